// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardfit::io {

/// Tells inputs apart: 64-bit FNV-1a over pieces, each closed by a separator. No protection against ill will.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view piece);
  /// 16 hexadecimal digits.
  std::string text() const;

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace shardfit::io
