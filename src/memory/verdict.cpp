// SPDX-License-Identifier: Apache-2.0
#include "memory/verdict.hpp"

#include <cmath>

// Computes:   the error band of a need, and the probability that it does not fit.
// Formula:    band^2 = sum over classes (share x bytes)^2 + (unstated x need)^2; t = (need - usable) / band;
//             p_oom = 1/2 + t / (2 sqrt(2 + t^2)), Student's distribution with two degrees of freedom.
// Source:     residuals of measured runs by class, see relative_band.
// Valid when: errors of different classes are independent.
//             Residuals have tails that a normal distribution has not: of reported peaks the 90th percentile is 3.9
//             (Megatron-Core) and 4.7 (FSDP2) times the median of absolute errors, where it would be 2.4, and here is 3.6.
// Ignores:    which switches a scenario states (all get the same band), and that a run may be started more than once.
// Checked by: tests/memory/verdict_test.cpp.

namespace shardfit::memory {

namespace {

/// One sigma, relative. Source: residuals of the measured runs (golden values and B200 ranks): state median
/// 0.6 %, of toy models, below 0.2 % above 4 GiB; dense activations p90 1.3 %; MoE p90 3.9 % of the peak;
/// reserved over allocated 1.007 to 1.093 around 1.038, i.e. 0.02 of the allocated bytes on 0.04 to 0.10 of
/// reserve. A graph's idle pool is saved tensors and transients with their growth: as what is there at a moment. Kind:
/// measured; fsdp, graphs, pooled, moments and outside: assumed.
constexpr double kState = 0.004, kSmall = 0.15, kSaved = 0.02, kRouted = 0.5, kMoment = 0.15, kFsdp = 0.3, kGraphs = 0.5,
                 kReserve = 0.6, kPooled = 0.15, kOutside = 0.35;

/// How far reported peaks lie from their prediction, as a share of it: scale of the distribution, which has half of its
/// absolute errors within 0.82 of it and 90 % within 2.9. From the errors of peak_gib and peak_allocated_gb in
/// reported_runs.json, throughput.json and the even half of free_reports.json (by SHA-1 of the id). Megatron-Core: median
/// 4.7 %, 90th percentile 21 % of 73 rows say 0.06 and 0.07, outcomes of the same files 0.1; at 0.088 a chance of 10 % asks
/// for the margin that a sigma of 0.13 did. FSDP2: median 7.9 %, 90th percentile 26 % of 22. Neither (DeepSpeed, FSDP1, DDP,
/// code of its own): median 24 % over the even rows of both (11), 31 % over 14. Kind: fitted.
constexpr double kUnstatedMegatron = 0.088, kUnstatedFsdp2 = 0.10, kUnstatedOther = 0.30;

double unstated(Framework framework) {
  if (framework == Framework::megatron) return kUnstatedMegatron;
  return framework == Framework::torch_fsdp2 ? kUnstatedFsdp2 : kUnstatedOther;
}

}  // namespace

TermClass class_of(MemoryTerm term) {
  using T = MemoryTerm;
  if (term == T::routing_imbalance) return TermClass::routed;
  if (term == T::allocator_reserve) return TermClass::reserve;
  if (term == T::graph_reserve) return TermClass::pooled;
  if (is_outside_torch(term)) return TermClass::outside;
  if (term == T::graph_pool) return TermClass::graphs;
  if (term == T::fsdp_unsharded_weights || term == T::fsdp_unreduced_gradients) return TermClass::fsdp;
  if (term <= T::gradient_copy_fp32) return TermClass::state;
  if (term <= T::tp_overlap_buffers) return TermClass::small;
  if (term <= T::batch) return TermClass::saved;
  return TermClass::moment;
}

double relative_band(TermClass c) {
  switch (c) {
    case TermClass::state: return kState;
    case TermClass::small: return kSmall;
    case TermClass::saved: return kSaved;
    case TermClass::routed: return kRouted;
    case TermClass::moment: return kMoment;
    case TermClass::fsdp: return kFsdp;
    case TermClass::graphs: return kGraphs;
    case TermClass::reserve: return kReserve;
    case TermClass::pooled: return kPooled;
    case TermClass::outside: return kOutside;
    case TermClass::count: break;
  }
  return 0;
}

Bytes error_band(const MemoryLedger& need) {
  EnumArray<TermClass, double> bytes{};
  for (std::size_t t = 0; t < kCount<MemoryTerm>; ++t) bytes[class_of(MemoryTerm(t))] += double(need[MemoryTerm(t)].value);
  double variance = 0;
  for (std::size_t c = 0; c < kCount<TermClass>; ++c) {
    const double sigma = relative_band(TermClass(c)) * bytes[TermClass(c)];
    variance += sigma * sigma;
  }
  return Bytes(std::llround(std::sqrt(variance)));
}

Bytes scenario_band(const MemoryLedger& need, Framework framework) {
  const double classes = double(error_band(need).value);
  return Bytes(std::llround(std::hypot(classes, unstated(framework) * double(need.total().value))));
}

double oom_probability(Bytes need, Bytes usable, Bytes band) {
  if (band.value <= 0) return need > usable ? 1 : 0;
  const double t = (need - usable) / band;
  return 0.5 + t / (2 * std::sqrt(2 + t * t));
}

}  // namespace shardfit::memory
