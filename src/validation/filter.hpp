// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/base/error.hpp"
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
  /// Why none of `runs` is accepted: no run has the field, or none such a value; with the nearest that there is.
  InputError nothing_accepted(const std::vector<MeasuredRun>& runs) const;

 private:
  std::string text_, key_, value_;
  char operation_ = '=';  ///< '=', '!', '<', '>'
  double number_ = 0;
};

/// The runs that meet all conditions. Throws InputError, which says what there is instead, if there are none.
std::vector<MeasuredRun> selected(std::vector<MeasuredRun> runs, const std::vector<Filter>& filters);

}  // namespace shardfit::validation
