// SPDX-License-Identifier: Apache-2.0
#include "search/aliases.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::search {
namespace {

constexpr std::size_t kShapeAxes = std::size_t(LayoutAxis::cp_comm_type) + 1;

/// What operations tell apart, over all the shapes that the space's blocks take: one layout is read for each combination
/// of what operation lists can depend on. Sizes beyond 1 change lengths, not which operations there are.
Distinctions distinctions_of(const Scenario& scenario, const Estimator& estimator, const layout::StagedRules& rules) {
  using ListKey = std::tuple<bool, bool, bool, bool, Dispatcher, CpCommType>;
  const Digits radix = radices(scenario.space);
  const std::uint64_t unit = strides(radix)[LayoutAxis::cp_comm_type];
  const std::uint64_t units = space_size(scenario.space) / unit;
  Distinctions found;
  std::set<ListKey> seen;
  Layout layout = layout_at(scenario, 0);
  for (std::uint64_t u = 0; u < units; ++u) {
    const Digits digits = digits_of(radix, u * unit);
    for (std::size_t i = 0; i < kShapeAxes; ++i) apply_digit(scenario, LayoutAxis(i), digits[LayoutAxis(i)], layout);
    const ListKey key{layout.tp > 1, layout.cp > 1, layout.ep > 1, layout.etp > 1, layout.dispatcher, layout.cp_comm_type};
    if (seen.contains(key)) continue;
    const layout::StagedRules::Cursor cursor(rules, layout);
    bool shaped = true;
    for (std::size_t i = 0; shaped && i < kShapeAxes; ++i) shaped = !cursor.broken_at(LayoutAxis(i));
    // Larger than the job, with rules that other axes decide: no layout, and no groups to ask for.
    if (layout.tp * layout.cp > scenario.job.gpus || layout.ep * layout.etp > scenario.job.gpus) continue;
    if (!shaped) continue;
    seen.insert(key);
    for (const CudaGraphImpl impl : {CudaGraphImpl::none, CudaGraphImpl::full_iteration}) {
      Layout whole = layout;
      whole.cuda_graph = {impl, {}};
      estimator.add_distinctions(whole, found);
    }
  }
  return found;
}

/// Whether the sets meet the same ones.
bool alike(const std::vector<EnumSet<RecomputeModule>>& told_apart, EnumSet<RecomputeModule> a, EnumSet<RecomputeModule> b) {
  return std::all_of(told_apart.begin(), told_apart.end(),
                     [&](EnumSet<RecomputeModule> t) { return t.intersects(a) == t.intersects(b); });
}

/// The modules that a choice drops or reruns: none without selective recompute.
EnumSet<RecomputeModule> modules_of(const Recompute& r) {
  return r.granularity == RecomputeGranularity::selective ? r.modules : EnumSet<RecomputeModule>{};
}

}  // namespace

Aliases::Aliases(const Scenario& scenario, const Estimator& estimator, const layout::StagedRules& rules)
    : vpps_(scenario.space.vpp.size()), splits_(scenario.space.split.size()) {
  fold_splits(scenario, rules);
  for (const Recompute& r : scenario.space.recompute)
    if (r.granularity == RecomputeGranularity::full && r.method == RecomputeMethod::block)
      block_layers_.push_back(r.num_layers);
  std::sort(block_layers_.begin(), block_layers_.end());
  const Distinctions told_apart = distinctions_of(scenario, estimator, rules);
  fold_recompute(scenario.space, told_apart);
  fold_graphs(scenario.space, told_apart);
}

void Aliases::fold_splits(const Scenario& scenario, const layout::StagedRules& rules) {
  const SearchSpace& space = scenario.space;
  Layout layout = layout_at(scenario, 0);
  layout::StagedRules::Cursor cursor(rules, layout);
  StagePlan plan;
  for (int pp : space.pp)
    for (int vpp : space.vpp) {
      layout.pp = pp;
      layout.vpp = vpp;
      cursor.entered(LayoutAxis::pp);
      std::vector<StagePlan> kept;  // of the splits so far that the rules allow
      for (const PipelineSplit& split : space.split) {
        layout.split = split;
        cursor.entered(LayoutAxis::split);
        const bool planned = make_stage_plan(scenario.job, layout, plan);
        const auto same = [&](const StagePlan& other) { return other.chunks == plan.chunks; };
        split_folds_.push_back(planned && std::any_of(kept.begin(), kept.end(), same));
        int most = 0;
        for (const Chunk& chunk : plan.chunks) most = std::max(most, chunk.num_layers);
        largest_chunk_.push_back(planned ? most : 0);
        if (planned && !cursor.broken_at(LayoutAxis::split)) kept.push_back(plan);
      }
    }
}

void Aliases::fold_recompute(const SearchSpace& space, const Distinctions& told_apart) {
  for (const Recompute& r : space.recompute)
    recompute_folds_.push_back(r.granularity == RecomputeGranularity::selective &&
                               std::any_of(space.recompute.begin(), space.recompute.end(), [&](const Recompute& other) {
                                 return other.granularity != RecomputeGranularity::full && other != r &&
                                        r.modules.contains_all(modules_of(other)) &&
                                        alike(told_apart.recompute, r.modules, modules_of(other));
                               }));
}

void Aliases::fold_graphs(const SearchSpace& space, const Distinctions& told_apart) {
  const auto onto = [&](const CudaGraph& graph, const CudaGraph& other) {
    if (graph.impl != CudaGraphImpl::transformer_engine || other == graph) return false;
    const bool nothing = other.impl == CudaGraphImpl::none && other.scopes.empty();
    if (!nothing && other.impl != graph.impl) return false;
    // moe_preprocess alone is refused, so it stands for no set that has moe_router too.
    if (other.scopes.contains(GraphScope::moe_preprocess) && !other.scopes.contains(GraphScope::moe_router)) return false;
    return graph.scopes.contains_all(other.scopes) && (graph.scopes & told_apart.scopes) == (other.scopes & told_apart.scopes);
  };
  for (const CudaGraph& graph : space.cuda_graph)
    graph_folds_.push_back(std::any_of(space.cuda_graph.begin(), space.cuda_graph.end(),
                                       [&](const CudaGraph& other) { return onto(graph, other); }));
}

bool Aliases::folds_block(const Recompute& r, const Digits& digits) const {
  if (r.granularity != RecomputeGranularity::full || r.method != RecomputeMethod::block) return false;
  const int chunk = largest_chunk_[plan_index(digits)];
  if (chunk == 0) return false;
  const auto enough = std::lower_bound(block_layers_.begin(), block_layers_.end(), chunk);
  return enough != block_layers_.end() && *enough < r.num_layers;
}

bool Aliases::folds(LayoutAxis axis, const Digits& digits, const Layout& layout) const {
  switch (axis) {
    case LayoutAxis::cp_comm_type: return layout.cp == 1 && digits[axis] > 0;
    case LayoutAxis::split: return split_folds_[plan_index(digits)];
    case LayoutAxis::optimizer_instances: return layout.sharding == Sharding::none && digits[axis] > 0;
    case LayoutAxis::recompute: return recompute_folds_[digits[axis]] || folds_block(layout.recompute, digits);
    case LayoutAxis::cuda_graph: return graph_folds_[digits[axis]];
    default: return false;
  }
}

}  // namespace shardfit::search
