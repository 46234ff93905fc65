// SPDX-License-Identifier: Apache-2.0
#include "io/fingerprint.hpp"

#include <fmt/format.h>

namespace shardfit::io {
namespace {
constexpr std::uint64_t kPrime = 1099511628211ULL;  // of FNV-1a, 64 bit
}

Fingerprint& Fingerprint::add(std::string_view piece) {
  for (const char c : piece) hash_ = (hash_ ^ std::uint8_t(c)) * kPrime;
  hash_ = (hash_ ^ 0x100u) * kPrime;  // no byte has this value, so "a" "b" is not "ab"
  return *this;
}

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

}  // namespace shardfit::io
