// SPDX-License-Identifier: Apache-2.0
#include "shardfit/base/pieces.hpp"

namespace shardfit {

std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace shardfit
