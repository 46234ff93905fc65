// SPDX-License-Identifier: Apache-2.0
// Computes:   one sigma of the relative error of the step time.
// Formula:    sqrt(site^2 + (band^2 - known^2)): `band` is that of the least known thing in the layout, `site` the
//             calibrated band of the cluster, or `known` where it has none: then the band comes out as it is.
// Source:     docs/accuracy.md (runs left out of the fit); sums of independent errors.
// Valid when: the site's runs have known blocks: what a host or a new block adds was not measured there.
// Ignores:    that two reasons may hold at once (the larger band is taken).
// Checked by: tests/laws/time_band_test.cpp.
#include "estimate/time_band.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace shardfit::estimate {
namespace {

constexpr double kHostShare = 0.05;  // assumed: of a step, from which on the host decides

struct Band {
  double sigma;
  std::string_view reason, calibrated_reason;
};

constexpr Band kTower{TimeBands::new_block, "few measured runs with a vision tower",
                      "few measured runs with a vision tower; cluster calibrated with its own runs"};
constexpr Band kAttention{TimeBands::new_block, "no measured run has this attention",
                          "no measured run has this attention; cluster calibrated with its own runs"};
constexpr Band kNetwork{TimeBands::host_or_network, "expert traffic crosses NVLink domains",
                        "expert traffic crosses NVLink domains; cluster calibrated with its own runs"};
constexpr Band kHost{TimeBands::host_or_network, "the host decides a part of the step",
                     "the host decides a part of the step; cluster calibrated with its own runs"};
constexpr Band kKnown{TimeBands::known, "known blocks on a measured GPU",
                      "known blocks on a cluster calibrated with its own runs"};

bool has_new_attention(const TextSpec& text) {
  return std::any_of(text.mixers.begin(), text.mixers.end(),
                     [](const MixerSpec& m) { return std::holds_alternative<CompressedMqaSpec>(m.kind); });
}

const Band& least_known(const Problem& problem, const Evaluation& e, const TimeLedger& time) {
  if (problem.vision) return kTower;
  if (has_new_attention(problem.job.model.text)) return kAttention;
  if (e.parts.links()[block::Group::tp_ep].domains > 1) return kNetwork;
  if (time.rows[TimeTerm::host] > time.total() * kHostShare) return kHost;
  return kKnown;
}

}  // namespace

TimeBand band_of(const Problem& problem, const Evaluation& e, const TimeLedger& time) {
  const Band& band = least_known(problem, e, time);
  const double site = problem.job.hardware.step_time_band.value;
  if (site == 0) return {band.sigma, band.reason};
  return {std::sqrt(site * site + (band.sigma * band.sigma - TimeBands::known * TimeBands::known)), band.calibrated_reason};
}

}  // namespace shardfit::estimate
