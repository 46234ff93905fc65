// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "layout/split_shape.hpp"
#include "shardfit/layout/job_facts.hpp"
#include "shardfit/layout/layout_axis.hpp"
#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/layout/rules.hpp"

namespace shardfit::layout {

/// What a rule looks at: the job's plain numbers, the layout, and what follows from both.
struct Case {
  const JobFacts& job;
  const Layout& layout;
  GridSizes grid;
  SplitShape split;
  bool grid_sound = true;  ///< the axes are positive and divide the ranks, so that dp and edp mean something

  const TrainingSpec& training() const { return job.job->training; }
  const StackProfile& stack() const { return job.job->stack; }
  const ModelSpec& model() const { return job.job->model; }
  int expert_group() const { return layout.ep * layout.etp; }
  bool fsdp() const { return layout.sharding == Sharding::full || layout.sharding == Sharding::optimizer_grads; }
  bool selective(RecomputeModule m) const {
    return layout.recompute.granularity == RecomputeGranularity::selective && layout.recompute.modules.contains(m);
  }
  bool full_recompute() const { return layout.recompute.granularity == RecomputeGranularity::full; }
  bool graphed(GraphScope scope) const {
    return layout.cuda_graph.impl != CudaGraphImpl::none && layout.cuda_graph.scopes.contains(scope);
  }
  /// Whole layers, or the whole step, in one graph.
  bool whole_graph() const {
    return layout.cuda_graph.impl == CudaGraphImpl::full_iteration ||
           (layout.cuda_graph.impl != CudaGraphImpl::none && layout.cuda_graph.scopes.empty());
  }
};

/// Whether a rule is broken, and the two numbers that disagree: the layout's and the one it has to suit.
struct Finding {
  bool broken = false;
  std::int64_t got = 0, need = 0;
};

inline constexpr Finding kPass{};

/// `divisor` has to divide `number` exactly. A number of 0 (the model has none) passes.
constexpr Finding divides(std::int64_t divisor, std::int64_t number) {
  return {divisor <= 0 || number % divisor != 0, divisor, number};
}
constexpr Finding at_least(std::int64_t got, std::int64_t least) { return {got < least, got, least}; }
constexpr Finding at_most(std::int64_t got, std::int64_t most) { return {got > most, got, most}; }
constexpr Finding equals(std::int64_t got, std::int64_t need) { return {got != need, got, need}; }
/// `got` has to be 0 (a count of offending things) when `applies`.
constexpr Finding none_of(bool applies, std::int64_t got) { return {applies && got != 0, got, 0}; }

/// The axes that nearest_cure may turn.
enum class Axis {
  none,
  tp,
  cp,
  pp,
  vpp,
  ep,
  etp,
  micro_batch_size,
  sequence_parallel,
  optimizer_instances,
  microbatch_group_size,
  recompute_num_layers,
  activation_layers,
  count
};

/// The search axes that a rule's verdict may depend on, whatever it asks the case for: `grid_sound` and `dp` come from
/// tp, cp, ep, etp, micro_batch_size and pp; sequence_parallel goes with tp; delay_wgrad with expert_overlap; `split` with
/// pp, vpp and split. More than it reads is safe, less is a bug that tests/oracle looks for. Empty: anything.
using Reads = EnumSet<LayoutAxis>;
using On = LayoutAxis;  ///< in the tables below
/// Of a rule that looks at the job and at fields that no search opens: decided with the first axis.
inline constexpr Reads kJobAlone{LayoutAxis::tp};

/// One reason code. `check` is pure, allocates nothing and reads integers only.
struct Rule {
  RuleInfo info;
  RuleScope scope = RuleScope::everywhere;
  std::array<Axis, 3> axes{};  ///< most worth turning first
  Reads reads;                 ///< lets a sweep refuse everything below an axis at once
  Finding (*check)(const Case&) = nullptr;
  int since = 0;  ///< first day (yyyymmdd) on which the stack asserted it; 0: always
};

// The tables, one a file, in the order in which a layout is tried: cheapest and most often broken first.
std::span<const Rule> grid_rules();
std::span<const Rule> tensor_rules();
std::span<const Rule> sequence_rules();
std::span<const Rule> pipeline_rules();
std::span<const Rule> layout_string_rules();
std::span<const Rule> hybrid_pattern_rules();
std::span<const Rule> moe_rules();
std::span<const Rule> dispatcher_rules();
std::span<const Rule> expert_overlap_rules();
std::span<const Rule> recompute_rules();
std::span<const Rule> offload_rules();
std::span<const Rule> graph_rules();
std::span<const Rule> precision_rules();
std::span<const Rule> optimizer_rules();
std::span<const Rule> fsdp_rules();
std::span<const Rule> vision_rules();

/// A table, and whether a layout asks for anything that it is about: where not, all its rules pass and none is tried.
struct RuleTable {
  std::span<const Rule> rules;
  bool (*concerns)(const Case&) = nullptr;  ///< none: every layout
};

inline constexpr std::size_t kRuleTables = 16;
const std::array<RuleTable, kRuleTables>& rule_tables();

/// The case of a layout with everything filled in.
Case make_case(const JobFacts& job, const Layout& layout);
/// Axes, and sizes where they mean something; the split is left out.
Case grid_case(const JobFacts& job, const Layout& layout);

}  // namespace shardfit::layout
