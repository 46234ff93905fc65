// SPDX-License-Identifier: Apache-2.0
#include "estimate/parts.hpp"

#include <algorithm>

#include "estimate/stage_load.hpp"

namespace shardfit::estimate {
namespace {

ShardKey shard_key(const Problem& problem, const Layout& l, const GridSizes& grid) {
  const int sequence = workload::executed_sequence(problem.job, l, problem.sample, ranks_waiting_for_images(l, grid));
  return {.tp = l.tp,
          .cp = l.cp,
          .ep = l.ep,
          .etp = l.etp,
          .micro_batch_size = l.micro_batch_size,
          .dispatcher_sms = l.dispatcher_sms,
          .sequence = sequence,
          .sequence_parallel = l.sequence_parallel,
          .whole_graph = l.cuda_graph.impl == CudaGraphImpl::full_iteration,
          .tp_comm_overlap = l.overlap.tp_comm,
          .dispatcher = l.dispatcher,
          .cp_comm_type = l.cp_comm_type};
}

/// Tables remembered for a shard key: of recompute sets and of graphs, some KB each; of both together, some hundred bytes.
/// (assumed: the largest search that ships has fewer)
constexpr std::size_t kMostKept = 512, kMostGraphs = 128, kMostReruns = 4096;

constexpr int kLayerBits = 16, kEnumBits = 3, kSetBits = 10, kGraphBits = kEnumBits + kSetBits;
static_assert(kCount<RecomputeModule> <= kSetBits && kCount<GraphScope> <= kSetBits && kCount<OffloadModule> <= kSetBits);
static_assert(kEnumBits + 1 + kLayerBits + 2 * kSetBits + kGraphBits <= 64);

}  // namespace

CostKey kept_key(const Layout& layout) {
  const Recompute& r = layout.recompute;
  if (r.num_layers < 0 || r.num_layers >= 1 << kLayerBits) return std::nullopt;
  std::uint64_t number = std::uint64_t(r.granularity) << 1 | std::uint64_t(r.method);
  number = number << kLayerBits | std::uint64_t(r.num_layers);
  number = number << kSetBits | r.modules.bits();
  return number << kSetBits | layout.offload.activation_modules.bits();
}

std::uint64_t graph_key(const CudaGraph& graph) { return std::uint64_t(graph.impl) << kSetBits | graph.scopes.bits(); }

CostKey cost_key(const Layout& layout) {
  const CostKey kept = kept_key(layout);
  if (!kept) return kept;
  return *kept << kGraphBits | graph_key(layout.cuda_graph);
}

ShardTables::ShardTables() : passes(kMostGraphs), kept(kMostKept), reruns(kMostReruns) {}

Parts::Parts(const Problem& problem) : problem_(problem) {
  for (ShardTables* tables : {&eager_, &whole_graph_}) tables->kinds.resize(problem.layers.kinds.size());
}

const topology::GroupLinks& Parts::links_of(GroupShape shape) {
  const auto found = link_cache_.find(shape);
  if (found != link_cache_.end()) return found->second;
  return link_cache_.emplace(shape, problem_.cluster.links({shape.size, shape.stride, shape.run, shape.jump})).first->second;
}

void Parts::prepare_shapes(const Layout& layout, const GridSizes& grid) {
  const ShardKey shard = shard_key(problem_, layout, grid);
  now_ = shard.whole_graph ? &whole_graph_ : &eager_;
  if (now_->shard_key != shard) {
    build(layout, shard);
    ++now_->builds;
    now_->shard_key = shard;
    now_->kept_key.reset();
    now_->graph.reset();
    now_->passes.clear();
    now_->kept.clear();
    now_->reruns.clear();
  }
}

void Parts::prepare_costs(const Layout& layout) {
  const CostKey key = kept_key(layout);
  const bool new_kept = !key || now_->kept_key != key, new_graph = now_->graph != layout.cuda_graph;
  if (new_kept) set_kept(layout);
  if (new_graph) set_passes(layout);
  if (new_kept || new_graph) set_reruns(layout);
  now_->kept_key = key;
  now_->graph = layout.cuda_graph;
}

void Parts::build_part(Part& part, const Layout& layout, block::OpList balanced, block::OpList loaded) {
  part.exists = true;
  part.ops = std::move(balanced);
  part.least_saved = memory::least_saved(part.ops);
  part.forward_transient = memory::activation_profile(part.ops, {}).forward_transient;
  part.params = memory::count_params(part.ops);
  part.shapes = memory::weight_shapes(part.ops);
  part.timed = time_ops(loaded, now_->rates);
  part.forward = forward_sum(part.timed, layout, now_->rates);
  part.backward = backward_sum(part.timed, layout, now_->rates);
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
  now_->rates = {.device = &problem_.device,
                 .links = &now_->links,
                 .network = comm::make_network(job, layout),
                 .permute_left = job.time[Coefficient::permute_left]};

  for (int k = 0; k < problem_.layers.size(); ++k) {
    const LayerKind& kind = problem_.layers.kinds[std::size_t(k)];
    const auto list = [&](const block::Shapes& s) {
      return block::decoder_block(text, kind.block, kind.bf16 ? block::in_bf16(s) : s);
    };
    build_part(now_->kinds[std::size_t(k)], layout, list(now_->shapes), list(loaded));
  }
  build_part(now_->embedding, layout, block::embedding(text, now_->shapes), block::embedding(text, loaded));
  build_part(now_->head, layout, block::head(text, now_->shapes, true), block::head(text, loaded, true));
  build_part(now_->tied_head, layout, block::head(text, now_->shapes, false), block::head(text, loaded, false));
  if (problem_.mtp_depth > 0) {
    const bool repeated = text.mtp && text.mtp->repeated_layer;
    build_part(now_->mtp_first, layout, block::mtp_layer(text, now_->shapes, true), block::mtp_layer(text, loaded, true));
    build_part(now_->mtp_more, layout, block::mtp_layer(text, now_->shapes, !repeated),
               block::mtp_layer(text, loaded, !repeated));
  }
  if (problem_.vision) build_vision(layout, loaded);
}

void Parts::set_passes(const Layout& layout) {
  const std::vector<PassCosts>& rows = now_->passes.at(
      graph_key(layout.cuda_graph), [&](std::vector<PassCosts>& made) { pass_rows(layout.cuda_graph, made); });
  const PassCosts* row = rows.data();
  now_->for_each([&row](Part& part) { part.passes = row++; });
  now_->vision.passes = problem_.vision ? row : nullptr;
}

void Parts::pass_rows(const CudaGraph& graph, std::vector<PassCosts>& rows) const {
  const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
  rows.clear();
  now_->for_each([&](const Part& part) {
    const BlockPasses time = block_passes(part.forward, part.backward, graph, now_->rates);
    rows.push_back({time.forward.load(slowdown), time.backward.load(slowdown), time});
  });
  if (problem_.vision) add_vision_passes(rows);
}

void Parts::set_reruns(const Layout& layout) {
  const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
  const std::vector<RerunLoad>& rows = now_->reruns.at(cost_key(layout), [&](std::vector<RerunLoad>& made) {
    made.clear();
    now_->for_each([&](const Part& part) {
      const Rerun again = rerun_pass(part.kept->rerun, layout.cuda_graph, now_->rates);
      made.push_back({again.pass.load(slowdown), again.forward_host});
    });
    if (problem_.vision) made.push_back(vision_rerun(layout));
  });
  const RerunLoad* row = rows.data();
  now_->for_each([&row](Part& part) { part.rerun = row++; });
  now_->vision.rerun = problem_.vision ? row : nullptr;
}

KeptCosts Parts::keep(const Part& part, const Layout& layout, std::optional<MemoryTerm> fold, Bytes input) const {
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  memory::ProfileOptions options;
  if (!full) options.recompute = layout.recompute;
  options.offloaded = layout.offload.activation_modules;
  options.block_input = input;
  options.fold = fold;
  KeptCosts kept;
  kept.plain = kept.checkpointed = memory::activation_profile(part.ops, options);
  if (full) {
    options.recompute = layout.recompute;
    kept.checkpointed = memory::activation_profile(part.ops, options);
  }
  kept.rerun = rerun_sum(part.timed, layout, now_->rates);
  return kept;
}

void Parts::set_kept(const Layout& layout) {
  const std::vector<KeptCosts>& rows = now_->kept.at(kept_key(layout),
                                                     [&](std::vector<KeptCosts>& made) { kept_rows(layout, made); });
  const KeptCosts* row = rows.data();
  now_->for_each([&row](Part& part) { part.kept = row++; });
  now_->vision.kept = problem_.vision ? row : nullptr;
}

void Parts::kept_rows(const Layout& layout, std::vector<KeptCosts>& rows) const {
  rows.clear();
  const Bytes stream(now_->shapes.stream_tokens * now_->shapes.hidden * now_->shapes.e);
  for (const Part& part : now_->kinds) rows.push_back(keep(part, layout, std::nullopt, stream));
  for (const Part* part : {&now_->embedding, &now_->head, &now_->tied_head})
    rows.push_back(keep(*part, layout, std::nullopt, stream));
  if (problem_.mtp_depth > 0)
    for (const Part* part : {&now_->mtp_first, &now_->mtp_more})
      rows.push_back(keep(*part, layout, MemoryTerm::saved_mtp, stream));
  if (problem_.vision) keep_vision(layout, rows);
}

}  // namespace shardfit::estimate
