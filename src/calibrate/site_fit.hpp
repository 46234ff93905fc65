// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibrate/shared_fit.hpp"

namespace shardfit::calibrate {

/// What may differ between a user's cluster and the file that describes its kind.
enum class SiteFactor { sustained_clock, link_efficiency, host_speed, count };

/// Factors on the figures of a hardware file; 1: as the file says.
using SiteFactors = EnumArray<SiteFactor, double>;

/// The cluster with its factors applied: the sustained factor; NVLink, NIC and all-to-all bandwidths; host speed. Figures
/// that change become `fitted`, with `source` as their source.
HardwareSpec with_factors(const HardwareSpec& hardware, const SiteFactors& factors, const std::string& source);

/// One of the user's runs before and after, s.
struct SiteRun {
  std::string id;
  double measured = 0, before = 0, after = 0;
};

struct SiteFit {
  HardwareSpec hardware;  ///< with the factors applied
  SiteFactors factors, standard_errors;
  std::vector<SiteRun> runs;
  ErrorStats before, after;
  double band = 0;  ///< one sigma for other layouts of the site: from 5 % without runs down to what the runs leave
};

/// Fits the three factors to runs on one kind of cluster. One run is enough: each factor is held near 1 the more tightly
/// the less sites are known to differ in it, so that a single run moves the likeliest.
/// Throws InputError where there is no run, or where runs are of several kinds of cluster.
SiteFit fit_site(const std::vector<TimedRun>& runs, const std::string& source);

/// The pointers and figures of `hardware` that a site's calibration changes, for an overlay file: "/gpu/sustained_factor",
/// ..., "/step_time_band".
std::vector<std::pair<std::string, Figure>> site_figures(const HardwareSpec& hardware);

}  // namespace shardfit::calibrate

template <>
inline constexpr std::array<std::string_view, shardfit::kCount<shardfit::calibrate::SiteFactor>>
    shardfit::kNames<shardfit::calibrate::SiteFactor> = {"sustained_clock", "link_efficiency", "host_speed"};
