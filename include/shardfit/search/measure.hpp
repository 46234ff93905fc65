// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "shardfit/estimate/estimator.hpp"
#include "shardfit/search/goals.hpp"

namespace shardfit {

/// Puts the metrics of a study's goals on layouts of one job.
class Measure {
 public:
  /// Throws InputError if `needed` has a metric that the goals or the hardware give no figure for: cost without a price,
  /// changes without a base layout.
  Measure(const Job& job, const Estimator& estimator, const Goals& goals, std::span<const Metric> needed);

  /// Seconds, tokens/s, US dollars, kWh, bytes, GPUs or a count; below 0: no figure (no price, no power, no base).
  double value(Metric metric, const Layout& layout, const Quick& quick, Estimator::Workspace& workspace) const;
  /// The same with less always better.
  double score(Metric metric, const Layout& layout, const Quick& quick, Estimator::Workspace& workspace) const {
    const double v = value(metric, layout, quick, workspace);
    return more_is_better(metric) ? -v : v;
  }
  Bytes host_memory(const Layout& layout, Estimator::Workspace& workspace) const;

 private:
  const Estimator& estimator_;
  const Goals& goals_;
  double gpus_;
  double useful_tokens_per_step_, steps_;  // of training
  double usd_per_s_, kilowatts_;           // all GPUs; below 0: not known
};

/// W of one GPU that `energy` counts: the goals' figure, else the board power of the datasheet; value 0: neither.
Figure watts_of(const Job& job, const Goals& goals);

/// The figure of a job's hardware; none if neither it nor all hardware has one.
std::optional<double> figure_of(const PerHardware& figures, const Job& job);

}  // namespace shardfit
