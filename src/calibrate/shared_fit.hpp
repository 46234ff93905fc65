// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/expectations.hpp"
#include "calibrate/timed_run.hpp"

namespace shardfit::calibrate {

/// How predictions of some runs did: errors are predicted/measured - 1, bias their median.
struct ErrorStats {
  int rows = 0;
  double median = 0, p90 = 0, max = 0, bias = 0;
};
ErrorStats error_stats(const std::vector<double>& errors);

/// Errors of the runs of one kind ("model", "Llama-3-70B").
struct ErrorGroup {
  std::string by, name;
  ErrorStats before, after;
};

/// A fitted variable with what leaving out one model at a time makes of it (equal to `value` where that was not asked for).
struct FittedShared {
  SharedVariable of;
  double before = 0, value = 0, standard_error = 0, lowest = 0, highest = 0;
};

/// Runs predicted by a fit that has not seen them.
struct LeftOut {
  std::string by, name;  ///< "model", "DeepSeek-V3"
  ErrorStats unseen;
  double refitted_bias = 0;  ///< bias of the same runs under the fit of all
};

struct SharedFit {
  std::vector<FittedShared> variables;
  ErrorStats before, after;
  std::vector<ErrorGroup> groups;  ///< by model, system, precision, release
  ErrorStats held_out, held_in;    ///< a fit on three quarters of the runs: the other quarter, and its own
  std::vector<LeftOut> left_out;
  std::vector<LeftOut> pooled;  ///< one a kind: all its left-out runs together
};

struct SharedFitOptions {
  bool hold_out = true;   ///< fit three quarters too
  bool leave_out = true;  ///< and without each model, system and release range
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Fits every coefficient and sustained factor to the runs: residuals log(predicted/measured), Cauchy loss, runs of one
/// (model, system, precision) weighted by count^-1/4, pulled to what kernel measurements make one expect.
SharedFit fit_shared(std::vector<TimedRun>& runs, const SharedFitOptions& options = {});

/// Whether a run is in the fixed quarter that is held out: by its id alone, so that it stays the same as runs are added.
bool is_held_out(const std::string& id);

}  // namespace shardfit::calibrate
