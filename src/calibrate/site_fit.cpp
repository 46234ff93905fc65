// SPDX-License-Identifier: Apache-2.0
#include "calibrate/site_fit.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/time_band.hpp"
#include "shardfit/base/error.hpp"

namespace shardfit::calibrate {
namespace {

/// How far sites differ from the runs behind the shared coefficients (assumed): clocks and power caps by 5 %, links by 15 %,
/// hosts by 25 %. Such a distance weighs like one run off by 3 %.
constexpr double kClockSpread = 0.05, kLinkSpread = 0.15, kHostSpread = 0.25, kRunSpread = 0.03;
/// The runs are the user's own: only one far from all others is doubted.
constexpr double kSiteCauchyScale = 0.3;
/// Repeated runs of one setting differ by this (median of published pairs with equal inputs: 1.3 %, 90 %: 4.6 %).
constexpr double kNoise = 0.02;

Variable factor(SiteFactor f, double spread) {
  constexpr double kLeast = 0.4, kMost = 2;  // beyond these the runs and the file describe different machines
  return {std::string(name_of(f)), 1, 1, kLeast, kMost, kRunSpread / spread};
}

std::vector<Variable> factors() {
  return {factor(SiteFactor::sustained_clock, kClockSpread), factor(SiteFactor::link_efficiency, kLinkSpread),
          factor(SiteFactor::host_speed, kHostSpread)};
}

SiteFactors as_factors(std::span<const double> values) {
  SiteFactors f{};
  for (std::size_t i = 0; i < values.size(); ++i) f[SiteFactor(i)] = values[i];
  return f;
}

void scale(Figure& figure, double by, const std::string& source) {
  if (by == 1) return;
  figure.value *= by;
  figure.kind = FigureKind::fitted;
  figure.source = source;
}

/// One sigma for layouts that were not run: the band of uncalibrated sites counts like as many runs as there are factors (so
/// many runs a fit can meet by chance), the residuals like the runs that they are. Nothing is better known than the
/// residuals say, or than one run repeats.
double band_after(std::size_t runs, double mean_square) {
  constexpr double kPriorRuns = double(kCount<SiteFactor>), kPrior = estimate::TimeBands::known;
  const double pooled = (kPriorRuns * kPrior * kPrior + double(runs) * mean_square) / (kPriorRuns + double(runs));
  return std::max({kNoise, std::sqrt(mean_square), std::sqrt(pooled)});
}

void check(const std::vector<TimedRun>& runs) {
  if (runs.empty()) throw InputError("", "FILE", "no run with a step time", "at least one");
  const std::string& first = runs.front().job().hardware.name;
  for (const TimedRun& run : runs)
    if (run.job().hardware.name != first)
      throw InputError("", "FILE", "runs on " + first + " and on " + run.job().hardware.name, "runs on one kind of cluster",
                       "choose with --where hardware=" + first);
}

}  // namespace

HardwareSpec with_factors(const HardwareSpec& hardware, const SiteFactors& f, const std::string& source) {
  HardwareSpec site = hardware;
  scale(site.gpu.sustained_factor, f[SiteFactor::sustained_clock], source);
  scale(site.fabric.nvlink_gb_per_s, f[SiteFactor::link_efficiency], source);
  scale(site.fabric.nic_gb_per_s, f[SiteFactor::link_efficiency], source);
  scale(site.fabric.nic_alltoall_gb_per_s, f[SiteFactor::link_efficiency], source);
  if (site.fabric.nic_dispatch_gb_per_s.value > 0)
    scale(site.fabric.nic_dispatch_gb_per_s, f[SiteFactor::link_efficiency], source);
  scale(site.node.host_speed, f[SiteFactor::host_speed], source);
  return site;
}

SiteFit fit_site(const std::vector<TimedRun>& runs, const std::string& source) {
  check(runs);
  const HardwareSpec& file = runs.front().job().hardware;
  Objective objective;
  objective.weights.assign(runs.size(), 1);
  objective.depends = [](std::size_t, std::size_t) { return true; };
  objective.residual = [&](std::size_t row, std::span<const double> values) {
    const HardwareSpec site = with_factors(file, as_factors(values), source);
    return std::log(runs[row].seconds(site) / runs[row].measured_s());
  };
  const FittedVariables fitted = fit(factors(), objective, {.cauchy_scale = kSiteCauchyScale});

  SiteFit result;
  result.factors = as_factors(fitted.values);
  result.standard_errors = as_factors(fitted.standard_errors);
  result.hardware = with_factors(file, result.factors, source);
  std::vector<double> before, after;
  double squares = 0;
  for (const TimedRun& run : runs) {
    result.runs.push_back({run.id(), run.measured_s(), run.seconds(file), run.seconds(result.hardware)});
    before.push_back(result.runs.back().before / run.measured_s() - 1);
    after.push_back(result.runs.back().after / run.measured_s() - 1);
    squares += after.back() * after.back();
  }
  result.before = error_stats(before);
  result.after = error_stats(after);
  result.band = std::min(1.0, band_after(runs.size(), squares / double(runs.size())));
  result.hardware.step_time_band = {result.band, FigureKind::fitted, source};
  return result;
}

std::vector<std::pair<std::string, Figure>> site_figures(const HardwareSpec& h) {
  std::vector<std::pair<std::string, Figure>> figures = {{"/gpu/sustained_factor", h.gpu.sustained_factor},
                                                         {"/fabric/nvlink_gb_per_s", h.fabric.nvlink_gb_per_s},
                                                         {"/fabric/nic_gb_per_s", h.fabric.nic_gb_per_s},
                                                         {"/fabric/nic_alltoall_gb_per_s", h.fabric.nic_alltoall_gb_per_s},
                                                         {"/node/host_speed", h.node.host_speed}};
  if (h.fabric.nic_dispatch_gb_per_s.value > 0)
    figures.emplace_back("/fabric/nic_dispatch_gb_per_s", h.fabric.nic_dispatch_gb_per_s);
  if (h.step_time_band.value > 0) figures.emplace_back("/step_time_band", h.step_time_band);
  return figures;
}

}  // namespace shardfit::calibrate
