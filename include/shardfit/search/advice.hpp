// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/search/tried.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// Advice in circulation on single settings of a run. (Which family to begin with is what `compare` itself answers.)
enum class Advice {
  larger_micro_batch,      ///< sweep it: each step up pays until something else decides
  selective_recompute,     ///< selective before full recompute
  wide_graph_scope,        ///< graphs of attention, router and preprocessing are the safe wide default
  hybridep,                ///< HybridEP in place of alltoall
  expert_tensor_parallel,  ///< costs: only where expert parallelism alone is not enough
  count
};
template <>
inline constexpr NameList<Advice> kNames<Advice> = {"larger_micro_batch", "selective_recompute", "wide_graph_scope", "hybridep",
                                                    "expert_tensor_parallel"};

/// Advice as two layouts that differ by what it names.
struct AdvicePair {
  Advice advice = Advice::larger_micro_batch;
  Tried from, to;
  bool costs = false;  ///< the advice says that `to` is slower, not faster
  bool has_gain() const { return !from.refused && !to.refused; }
  /// Tokens/s of `to` over `from`, less 1, whether they fit or not. Only where has_gain().
  double gain() const { return from.quick.step_time_s / to.quick.step_time_s - 1; }
};

/// What each piece of advice comes to around a layout: everything else stays as it is there. Micro-batch sizes are those of
/// the scenario's search; recompute goes from full to the fastest that fits of the search's others (none fits: the one that
/// needs least), both without graphs and expert overlap; advice on experts is left out for a dense model. `layout` passes
/// the rules.
std::vector<AdvicePair> advice_around(const Scenario& scenario, const Estimator& estimator, const Layout& layout);

}  // namespace shardfit
