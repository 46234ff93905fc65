// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "shardfit/search/sweep.hpp"

namespace shardfit::cli {

/// "12.3 %  123,456 of 1,000,000 layouts  85,000/s  ETA 10 s  4,321 fit  best 2,345.6 tokens/s/GPU": of allowed layouts
/// where their number is known, else of combinations.
std::string progress_text(const SweepProgress& progress, double seconds);

/// "2,304 combinations, 1,080 layouts that the rules allow".
std::string space_text(std::uint64_t combinations, std::uint64_t valid);

/// Prints progress to stderr: on a terminal over one line, ten times a second; in a pipe as plain lines every few
/// seconds, and nothing at all for a sweep that is done before.
class Progress {
 public:
  Progress(std::ostream& err, bool live) : err_(err), live_(live) {}

  /// `seconds`: since the start.
  void show(const SweepProgress& progress, double seconds);
  /// Clears the line.
  void finish();

 private:
  std::ostream& err_;
  bool live_;
  double last_ = 0;
  bool shown_ = false;
};

}  // namespace shardfit::cli
