// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "validation/measured_run.hpp"

namespace shardfit::validation {

/// One `--where` condition: "tuned" (a flag), "key=value", "key!=value", "key>number", "key<number". A number may carry
/// GiB, MiB or GB; "static" and "peak" stand for static_allocated_bytes and peak_allocated_bytes.
/// Throws InputError on text that is no condition.
class Filter {
 public:
  explicit Filter(const std::string& text);
  /// False where the run lacks the field.
  bool accepts(const MeasuredRun& run) const;

 private:
  std::string key_, value_;
  char operation_ = '=';   ///< '=', '!', '<', '>'
  double number_ = 0;
};

}  // namespace shardfit::validation
