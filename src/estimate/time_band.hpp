// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// One sigma of the relative error of step time where no run of the site is known. Source: errors of runs that were left out
/// of the fit (docs/accuracy.md).
struct TimeBands {
  static constexpr double known = 0.05;            ///< blocks and GPUs that measured runs have
  static constexpr double host_or_network = 0.10;  ///< the host, or links across NVLink domains, decide a part
  static constexpr double new_block = 0.15;        ///< blocks that no or few measured runs have
};

/// The error band of the step time and its reason. A calibration (HardwareSpec::step_time_band) takes the place of the part
/// that all layouts of a site share, TimeBands::known; what a layout adds to it (host, network, new blocks) stays.
TimeBand band_of(const Problem& problem, const Evaluation& e, const TimeLedger& time);

}  // namespace shardfit::estimate
