// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardfit {

/// "a:b:c" -> {"a", "b", "c"}; one empty piece for an empty text.
std::vector<std::string> pieces(std::string_view text, char separator);

}  // namespace shardfit
