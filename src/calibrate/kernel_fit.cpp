// SPDX-License-Identifier: Apache-2.0
// Computes:   how well kernel curves meet measured points, and the curves that meet them best.
// Formula:    residuals log(predicted/measured) of the product's own kernel formulas (compute/), Cauchy loss; the pull to
//             the shipped value is weak (a distance of the value itself weighs like one point off by 100 %).
// Source:     robust_fit.hpp; tables and their provenance are the user's.
// Valid when: a system has at least 40 points of a kind.
// Ignores:    differences between backends (the tables' choice), small sequences' launch overlap.
// Checked by: tests/calibrate/kernel_fit_test.cpp.
#include "calibrate/kernel_fit.hpp"

#include <algorithm>
#include <cmath>

#include "compute/work_time.hpp"
#include "validation/points.hpp"

namespace shardfit::calibrate {
namespace {

constexpr std::size_t kFewestPoints = 40;
constexpr double kMedianLimit = 0.08, kP90Limit = 0.20;
constexpr double kWeakPull = 1;
/// A fit needs no more points of one curve than this: every n-th is taken, the report is over all of them.
constexpr std::size_t kPointsFitted = 600;
/// A cast reads bf16 and writes one quantised copy, bytes an element.
constexpr double kCastBytes = 3;
/// Reached by those casts: the intercepts of the tables over n (2.4 to 2.7 on Hopper, 5 to 6.5 on Blackwell). Fitted
constexpr double cast_tb_per_s(GpuGeneration g) { return g == GpuGeneration::blackwell ? 6.0 : 2.6; }

compute::Device burst_device(const HardwareSpec& h) {
  Job job;
  job.hardware = h;
  job.hardware.gpu.sustained_factor.value = 1;
  for (std::size_t c = 0; c < kCount<Coefficient>; ++c) job.time.values[Coefficient(c)].value = 1;
  compute::Device d = compute::make_device(job);
  d.gemm_factor[Math::nvfp4] = 1;  // the tables' kernels are those of the curve
  d.power_exponent = 0;
  return d;
}

/// Predicted seconds of a point.
double seconds(const KernelPoint& p, const compute::Device& d, double cast_tb_per_s) {
  switch (p.kernel.kind) {
    case block::KernelKind::gemm:
      return compute::gemm_time(p.kernel, d) + p.cast_elements * kCastBytes / (cast_tb_per_s * 1e12);
    case block::KernelKind::grouped_gemm: return compute::grouped_gemm_time(p.kernel, d);
    default: return compute::attention_time(p.kernel, d);
  }
}

using Points = std::vector<const KernelPoint*>;

ErrorStats errors_of(const Points& points, const compute::Device& d, double cast) {
  std::vector<double> errors;
  for (const KernelPoint* p : points) errors.push_back(seconds(*p, d, cast) / p->seconds - 1);
  return error_stats(errors);
}

Variable variable(const char* name, double shipped, double low, double high) {
  return {name, shipped, shipped, low, high, kWeakPull};
}

/// A device with the values of a fit in one curve, and the rate of casts.
struct Trial {
  compute::Device device;
  double cast = 1;
};

using Apply = void (*)(const Points&, std::span<const double>, Trial&);

void apply_gemm(const Points& points, std::span<const double> v, Trial& t) {
  GemmCurve& c = t.device.gemm[points.front()->kernel.math];
  c.rate_tflops = v[0], c.launch_us = v[1], c.k_half = v[2], c.wave = v[3];
  if (v.size() > 4) t.cast = v[4];
}

void apply_attention(const Points& points, std::span<const double> v, Trial& t) {
  for (int i = 0; i < t.device.attention_curves; ++i)
    if (t.device.attention[i].head_dim == points.front()->kernel.head_dim)
      t.device.attention[i].rate = v[0] * 1e12, t.device.attention[i].seq_half = v[1];
}

void refit(const Points& points, const compute::Device& shipped, double cast, const std::vector<Variable>& variables,
           Apply apply, KernelFit& result) {
  Points some;
  const std::size_t step = std::max<std::size_t>(1, points.size() / kPointsFitted);
  for (std::size_t i = 0; i < points.size(); i += step) some.push_back(points[i]);
  Trial trial{shipped, cast};
  Objective objective;
  objective.weights.assign(some.size(), 1);
  objective.depends = [](std::size_t, std::size_t) { return true; };
  objective.residual = [&](std::size_t row, std::span<const double> v) {
    apply(points, v, trial);
    return std::log(seconds(*some[row], trial.device, trial.cast) / some[row]->seconds);
  };
  const FittedVariables fitted = fit(variables, objective);
  apply(points, fitted.values, trial);
  result.refitted = errors_of(points, trial.device, trial.cast);
  for (std::size_t i = 0; i < variables.size(); ++i)
    result.values.push_back({variables[i].name, variables[i].start, fitted.values[i]});
}

KernelFit gemm_fit(const Points& points, const HardwareSpec& h, Math math) {
  const compute::Device d = burst_device(h);
  KernelFit result{"gemm", h.name, std::string(name_of(math))};
  const double cast = cast_tb_per_s(h.gpu.generation);
  result.shipped = errors_of(points, d, cast);
  const GemmCurve& c = d.gemm[math];
  std::vector<Variable> variables{variable("rate_tflops", c.rate_tflops, c.rate_tflops / 2, c.rate_tflops * 2),
                                  variable("launch_us", c.launch_us, 1, 10), variable("k_half", c.k_half, 0, 1500),
                                  variable("wave", c.wave, 0, 3)};
  if (points.front()->cast_elements > 0) variables.push_back(variable("cast_tb_per_s", cast, 1, 10));
  refit(points, d, cast, variables, apply_gemm, result);
  return result;
}

KernelFit attention_fit(const Points& points, const HardwareSpec& h, const compute::Device::Attention& curve) {
  const compute::Device d = burst_device(h);
  KernelFit result{"attention", h.name, curve.head_dim ? "head_dim " + std::to_string(curve.head_dim) : "mla"};
  result.shipped = errors_of(points, d, 1);
  const double tera = curve.rate / 1e12;
  refit(points, d, 1, {variable("rate_tflops", tera, tera / 2, tera * 2), variable("seq_half", curve.seq_half, 0, 4000)},
        apply_attention, result);
  return result;
}

template <class F>
Points chosen(const std::vector<KernelPoint>& all, const HardwareSpec& h, F wanted) {
  Points points;
  for (const KernelPoint& p : all)
    if (validation::gpu_of(p.system) == validation::gpu_of(h.name) && wanted(p)) points.push_back(&p);
  return points.size() < kFewestPoints ? Points{} : points;
}

}  // namespace

bool within_limits(const ErrorStats& errors) { return errors.median <= kMedianLimit && errors.p90 <= kP90Limit; }

std::vector<KernelFit> fit_kernels(const KernelPoints& all, const std::vector<HardwareSpec>& systems) {
  std::vector<KernelFit> fits;
  for (const HardwareSpec& h : systems) {
    const compute::Device d = burst_device(h);
    for (std::size_t i = 0; i < kCount<Math>; ++i) {
      const Math math = Math(i);
      if (h.gpu.gemm[math].rate_tflops <= 0) continue;
      const Points points = chosen(all.gemm, h, [&](const KernelPoint& p) { return p.kernel.math == math; });
      if (!points.empty()) fits.push_back(gemm_fit(points, h, math));
    }
    for (int i = 0; i < d.attention_curves; ++i) {
      const int head_dim = d.attention[i].head_dim;
      const Points points = chosen(all.attention, h, [&](const KernelPoint& p) { return p.kernel.head_dim == head_dim; });
      if (!points.empty()) fits.push_back(attention_fit(points, h, d.attention[i]));
    }
    for (const block::Pass pass : {block::Pass::forward, block::Pass::dgrad, block::Pass::wgrad}) {
      Points points;
      for (const KernelPoint& p : all.grouped)
        if (validation::gpu_of(p.system) == validation::gpu_of(h.name) && p.kernel.pass == pass) points.push_back(&p);
      if (points.empty()) continue;
      constexpr EnumArray<block::Pass, const char*> kPasses{{{"forward", "dgrad", "wgrad"}}};
      KernelFit result{"grouped_gemm", h.name, kPasses[pass]};
      result.shipped = result.refitted = errors_of(points, d, 1);
      fits.push_back(std::move(result));
    }
  }
  return fits;
}

}  // namespace shardfit::calibrate
