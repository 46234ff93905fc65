// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shardfit/spec/scenario.hpp"
#include "validation/measured_run.hpp"

namespace shardfit::calibrate {

/// A measured run whose step time can be predicted many times, under other coefficients.
class TimedRun {
 public:
  /// `measured_s`: of one step.
  TimedRun(const validation::MeasuredRun& run, double measured_s);
  ~TimedRun();
  TimedRun(TimedRun&&) noexcept;

  const Job& job() const;
  const std::string& id() const { return id_; }
  const std::string& release() const { return release_; }
  double measured_s() const { return measured_s_; }

  /// Step time with these coefficients and this sustained factor of the GPU, s. Not for two threads at once.
  double seconds(const TimeCoefficients& time, double sustained_factor);
  /// Step time on other hardware figures, s.
  double seconds(const HardwareSpec& hardware) const;

 private:
  struct State;
  std::string id_, release_;
  double measured_s_;
  std::unique_ptr<State> state_;
};

/// Seconds of a step as a run states them, or as its tokens/s or TFLOP/s imply; none if it states none of them, or if its
/// batch is only assumed.
std::optional<double> measured_step_seconds(const validation::MeasuredRun& run);

/// The runs that have a step time and a layout that the model covers; why others were left out goes to `left_out`.
std::vector<TimedRun> timed_runs(const std::vector<validation::MeasuredRun>& runs, std::vector<std::string>& left_out);

}  // namespace shardfit::calibrate
