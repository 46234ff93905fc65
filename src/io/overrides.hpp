// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

namespace shardfit::io {

/// Sets fields of a scenario's JSON: "training.frozen=[\"vision_model\"]", "training.vision=coco-captions". The value is
/// JSON, or text where it is none. Objects on the way are made; what a key means is checked when the scenario is read.
/// Throws InputError (pointer "--set") for text without '=', an empty key, or a path through something that is no object.
void apply_overrides(Json& scenario, const std::vector<std::string>& overrides);

}  // namespace shardfit::io
