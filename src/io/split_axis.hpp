// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pipeline splits of "all" (all_splits of axes.hpp), and what they ask of the number of chunks.

namespace shardfit::io {

/// Whether some split of `layers` over pp stages gives every stage layers that vpp chunks divide.
bool chunks_divide(int layers, int pp, int vpp);

}  // namespace shardfit::io
