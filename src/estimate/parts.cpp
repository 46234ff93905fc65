// SPDX-License-Identifier: Apache-2.0
#include "estimate/parts.hpp"

#include <algorithm>

#include "estimate/stage_load.hpp"

namespace shardfit::estimate {
namespace {

ShardKey shard_key(const Problem& problem, const Layout& l, const GridSizes& grid) {
  const int sequence = workload::executed_sequence(problem.job, l, problem.sample, ranks_waiting_for_images(l, grid));
  return {.tp = l.tp, .cp = l.cp, .ep = l.ep, .etp = l.etp, .micro_batch_size = l.micro_batch_size,
          .dispatcher_sms = l.dispatcher_sms, .sequence = sequence, .sequence_parallel = l.sequence_parallel,
          .whole_graph = l.cuda_graph.impl == CudaGraphImpl::full_iteration, .dispatcher = l.dispatcher,
          .cp_comm_type = l.cp_comm_type};
}

/// Cost keys remembered for a shard key, about 10 KB each. (assumed: all recompute sets, graphs and overlaps of the
/// largest search that ships are fewer)
constexpr std::size_t kMostCached = 1024;

}  // namespace

CostKey cost_key(const Layout& layout, const CudaGraph& graph) {
  std::uint64_t number = 0;
  const auto append = [&number](std::uint64_t value, int bits) { number = number << bits | value; };
  constexpr int kLayerBits = 16, kEnumBits = 3, kSetBits = 10;
  static_assert(kCount<RecomputeModule> <= kSetBits && kCount<GraphScope> <= kSetBits && kCount<OffloadModule> <= kSetBits);
  if (layout.recompute.num_layers < 0 || layout.recompute.num_layers >= 1 << kLayerBits) return std::nullopt;
  append(std::uint64_t(layout.recompute.granularity), kEnumBits);
  append(std::uint64_t(layout.recompute.method), 1);
  append(std::uint64_t(layout.recompute.num_layers), kLayerBits);
  append(layout.recompute.modules.bits(), kSetBits);
  append(std::uint64_t(graph.impl), kEnumBits);
  append(graph.scopes.bits(), kSetBits);
  append(layout.offload.activation_modules.bits(), kSetBits);
  append(layout.overlap.tp_comm, 1);
  return number;
}

Parts::Parts(const Problem& problem) : problem_(problem) {
  for (ShardTables* tables : {&eager_, &whole_graph_}) tables->kinds.resize(problem.layers.kinds.size());
}

const topology::GroupLinks& Parts::links_of(GroupShape shape) {
  const auto found = link_cache_.find(shape);
  if (found != link_cache_.end()) return found->second;
  return link_cache_.emplace(shape, problem_.cluster.links({shape.size, shape.stride, shape.run, shape.jump})).first->second;
}

CostCache::Slot CostCache::slot(const CostKey& key) {
  if (!key) return {&unremembered_, false};
  // A search asks for the same keys in the same order again and again.
  std::size_t at = last_ + 1 < keys_.size() && keys_[last_ + 1] == *key
                       ? last_ + 1
                       : std::size_t(std::find(keys_.begin(), keys_.end(), *key) - keys_.begin());
  const bool found = at < keys_.size();
  if (!found) {
    if (keys_.size() == kMostCached) return {&unremembered_, false};
    keys_.push_back(*key);
    if (costs_.size() < keys_.size()) costs_.emplace_back();
  }
  last_ = at;
  return {&costs_[at], found};
}

void Parts::prepare_shapes(const Layout& layout, const GridSizes& grid) {
  const ShardKey shard = shard_key(problem_, layout, grid);
  now_ = shard.whole_graph ? &whole_graph_ : &eager_;
  if (now_->shard_key != shard) {
    build(layout, shard);
    ++now_->builds;
    now_->shard_key = shard;
    now_->cost_key.reset();
    now_->cache.clear();
  }
}

void Parts::prepare_costs(const Layout& layout) {
  const CostKey key = cost_key(layout, layout.cuda_graph);
  if (!key || now_->cost_key != key) {
    cost(layout, key);
    now_->cost_key = key;
  }
}

void Parts::build_part(Part& part, block::OpList balanced, block::OpList loaded) {
  part.exists = true;
  part.ops = std::move(balanced);
  part.params = memory::count_params(part.ops);
  part.shapes = memory::weight_shapes(part.ops);
  part.timed = time_ops(loaded, now_->rates);
  part.loaded = std::move(loaded);
}

void Parts::build(const Layout& layout, const ShardKey& key) {
  const Job& job = problem_.job;
  const TextSpec& text = job.model.text;
  now_->shapes = block::make_shapes(job, layout, 1);
  // Memory is that of full rows, which come sooner or later; time that of the rows that usually run.
  const block::Shapes loaded = block::with_sequence(block::make_shapes(job, layout, problem_.expert_load), key.sequence);

  using block::Group;
  now_->links[Group::tp] = links_of({layout.tp, 1});
  now_->links[Group::cp] = links_of({layout.cp, layout.tp});
  const int ring = hierarchical_cp_ring(layout.cp), inner = layout.cp / ring;
  now_->links[Group::cp_a2a] = links_of({inner, layout.tp});
  now_->links[Group::cp_p2p] = links_of({ring, layout.tp * inner});
  now_->links[Group::ep] = links_of({layout.ep, layout.etp});
  now_->links[Group::etp] = links_of({layout.etp, 1});
  now_->links[Group::tp_ep] = links_of({layout.ep * layout.etp, 1});
  now_->rates = {.device = &problem_.device, .links = &now_->links, .network = comm::make_network(job, layout),
            .permute_left = job.time[Coefficient::permute_left],
            .tp_overlap_exposed = job.time[Coefficient::tp_overlap_exposed]};

  for (int k = 0; k < problem_.layers.size(); ++k) {
    const BlockRef block = problem_.layers.kinds[std::size_t(k)];
    build_part(now_->kinds[std::size_t(k)], block::decoder_block(text, block, now_->shapes),
               block::decoder_block(text, block, loaded));
  }
  build_part(now_->embedding, block::embedding(text, now_->shapes), block::embedding(text, loaded));
  build_part(now_->head, block::head(text, now_->shapes, true), block::head(text, loaded, true));
  build_part(now_->tied_head, block::head(text, now_->shapes, false), block::head(text, loaded, false));
  if (problem_.mtp_depth > 0) {
    const bool repeated = text.mtp && text.mtp->repeated_layer;
    build_part(now_->mtp_first, block::mtp_layer(text, now_->shapes, true), block::mtp_layer(text, loaded, true));
    build_part(now_->mtp_more, block::mtp_layer(text, now_->shapes, !repeated), block::mtp_layer(text, loaded, !repeated));
  }
  if (problem_.vision) build_vision(layout, loaded);
}

PartCosts Parts::cost_part(const Part& part, const Layout& layout, std::optional<MemoryTerm> fold, Bytes input) const {
  memory::ProfileOptions options;
  options.recompute = layout.recompute;
  options.offloaded = layout.offload.activation_modules;
  options.cuda_graph = layout.cuda_graph;
  options.block_input = input;
  options.fold = fold;
  Recompute none = layout.recompute;
  if (none.granularity == RecomputeGranularity::full) none = {};
  options.recompute = none;
  PartCosts costs;
  costs.plain = memory::activation_profile(part.ops, options);
  if (layout.recompute.granularity == RecomputeGranularity::full) {
    options.recompute = layout.recompute;
    costs.checkpointed = memory::activation_profile(part.ops, options);
  } else {
    costs.checkpointed = costs.plain;
  }
  costs.time = block_time(part.timed, layout, now_->rates);
  const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
  costs.forward = costs.time.forward.load(slowdown);
  costs.backward = costs.time.backward.load(slowdown);
  costs.rerun = costs.time.rerun.load(slowdown);
  return costs;
}

/// Points the parts at their costs, which are made if the cache does not have them.
void Parts::cost(const Layout& layout, const CostKey& key) {
  const CostCache::Slot slot = now_->cache.slot(key);
  if (!slot.found) {
    slot.costs->clear();
    cost_anew(layout, *slot.costs);
  }
  const PartCosts* costs = slot.costs->data();
  now_->for_each([&costs](Part& part) { part.costs = costs++; });
  now_->vision = problem_.vision ? costs : nullptr;
}

void Parts::cost_anew(const Layout& layout, CostTable& costs) {
  const Bytes stream(now_->shapes.stream_tokens * now_->shapes.hidden * now_->shapes.e);
  for (const Part& part : now_->kinds) costs.push_back(cost_part(part, layout, std::nullopt, stream));
  for (const Part* part : {&now_->embedding, &now_->head, &now_->tied_head})
    costs.push_back(cost_part(*part, layout, std::nullopt, stream));
  if (problem_.mtp_depth > 0)
    for (const Part* part : {&now_->mtp_first, &now_->mtp_more})
      costs.push_back(cost_part(*part, layout, MemoryTerm::saved_mtp, stream));
  if (problem_.vision) cost_vision(layout, costs);
}

}  // namespace shardfit::estimate
