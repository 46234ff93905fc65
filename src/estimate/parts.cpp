// SPDX-License-Identifier: Apache-2.0
#include "estimate/parts.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

ShardKey shard_key(const Layout& l) {
  return {.tp = l.tp, .cp = l.cp, .ep = l.ep, .etp = l.etp, .micro_batch_size = l.micro_batch_size,
          .dispatcher_sms = l.dispatcher_sms, .sequence_parallel = l.sequence_parallel,
          .whole_graph = l.cuda_graph.impl == CudaGraphImpl::full_iteration, .dispatcher = l.dispatcher,
          .cp_comm_type = l.cp_comm_type};
}

CostKey cost_key(const Layout& l) { return {l.recompute, l.cuda_graph, l.overlap, l.offload.activation_modules}; }

bool trains(const Job& job, ModelPart part) {
  return job.training.task != Task::lora && !job.training.frozen.contains(part);
}

/// Shapes of the tower or its projection: bf16, and trained or frozen on their own.
block::Shapes vision_shapes(const Job& job, block::Shapes shapes, ModelPart part) {
  shapes.precision = Precision::bf16;
  shapes.lora_rank = 0;
  shapes.train_weights = trains(job, part);
  shapes.needs_input_grad = trains(job, ModelPart::vision_model);
  return shapes;
}

/// Two parts that run one after the other as one.
memory::ActivationProfile together(memory::ActivationProfile a, const memory::ActivationProfile& b) {
  for (std::size_t t = 0; t < kCount<MemoryTerm>; ++t) a.saved[MemoryTerm(t)] += b.saved[MemoryTerm(t)];
  a.checkpoint += b.checkpoint;
  a.recompute_working_set += b.recompute_working_set;
  a.forward_transient = std::max(a.forward_transient, b.forward_transient);
  a.backward_transient = std::max(a.backward_transient, b.backward_transient);
  a.graphed += b.graphed;
  a.offloaded += b.offloaded;
  return a;
}

constexpr int kBf16Bytes = 2;

}  // namespace

Parts::Parts(const Problem& problem) : problem_(problem), kinds_(problem.layers.kinds.size()) {}

const topology::GroupLinks& Parts::links_of(GroupShape shape) {
  const auto found = link_cache_.find(shape);
  if (found != link_cache_.end()) return found->second;
  return link_cache_.emplace(shape, problem_.cluster.links({shape.size, shape.stride})).first->second;
}

void Parts::prepare(const Layout& layout, const GridSizes&) {
  const ShardKey shard = shard_key(layout);
  if (shard_key_ != shard) {
    build(layout);
    shard_key_ = shard;
    cost_key_.reset();
  }
  const CostKey costs = cost_key(layout);
  if (cost_key_ != costs) {
    cost(layout);
    cost_key_ = costs;
  }
}

void Parts::build_part(Part& part, block::OpList balanced, block::OpList loaded) {
  part.ops = std::move(balanced);
  part.params = memory::count_params(part.ops);
  part.shapes = memory::weight_shapes(part.ops);
  part.timed = time_ops(loaded, rates_);
}

void Parts::build(const Layout& layout) {
  const Job& job = problem_.job;
  const TextSpec& text = job.model.text;
  shapes_ = block::make_shapes(job, layout, 1);
  const block::Shapes loaded = block::make_shapes(job, layout, problem_.expert_load);

  using block::Group;
  links_[Group::tp] = links_of({layout.tp, 1});
  links_[Group::cp] = links_of({layout.cp, layout.tp});
  links_[Group::ep] = links_of({layout.ep, layout.etp});
  links_[Group::etp] = links_of({layout.etp, 1});
  links_[Group::tp_ep] = links_of({layout.ep * layout.etp, 1});
  rates_ = {.device = &problem_.device, .links = &links_, .network = comm::make_network(job, layout),
            .precision = job.training.precision, .permute_left = job.time[Coefficient::permute_left],
            .tp_overlap_exposed = job.time[Coefficient::tp_overlap_exposed]};

  for (int k = 0; k < problem_.layers.size(); ++k) {
    const BlockRef block = problem_.layers.kinds[std::size_t(k)];
    build_part(kinds_[std::size_t(k)], block::decoder_block(text, block, shapes_),
               block::decoder_block(text, block, loaded));
  }
  build_part(embedding_, block::embedding(text, shapes_), block::embedding(text, loaded));
  build_part(head_, block::head(text, shapes_, true), block::head(text, loaded, true));
  build_part(tied_head_, block::head(text, shapes_, false), block::head(text, loaded, false));
  if (problem_.mtp_depth > 0) {
    const bool repeated = text.mtp && text.mtp->repeated_layer;
    build_part(mtp_first_, block::mtp_layer(text, shapes_, true), block::mtp_layer(text, loaded, true));
    build_part(mtp_more_, block::mtp_layer(text, shapes_, !repeated), block::mtp_layer(text, loaded, !repeated));
  }
  if (!problem_.vision) return;
  const double samples = layout.micro_batch_size / double(job.stack.vision_dp_when_cp ? layout.cp : 1);
  vision_batch_ = workload::vision_batch(*job.model.vision, job.training.vision.value_or(VisionWorkload{}), samples);
  const block::VisionLoad load{.patches = vision_batch_.patches, .patches_squared = vision_batch_.patches_squared,
                               .tokens = vision_batch_.tokens, .images = vision_batch_.images};
  rates_.precision = Precision::bf16;  // the tower never runs in fp8
  const auto encoder = vision_shapes(job, shapes_, ModelPart::vision_model);
  const auto projector = vision_shapes(job, shapes_, ModelPart::vision_projection);
  build_part(vision_encoder_, block::vision_encoder(*job.model.vision, encoder, load),
             block::vision_encoder(*job.model.vision, encoder, load));
  build_part(vision_projector_, block::vision_projector(*job.model.vision, projector, load),
             block::vision_projector(*job.model.vision, projector, load));
  rates_.precision = job.training.precision;
}

void Parts::cost_part(Part& part, const Layout& layout, std::optional<MemoryTerm> fold, Bytes input) {
  memory::ProfileOptions options;
  options.recompute = layout.recompute;
  options.offloaded = layout.offload.activation_modules;
  options.cuda_graph = layout.cuda_graph;
  options.block_input = input;
  options.fold = fold;
  Recompute none = layout.recompute;
  if (none.granularity == RecomputeGranularity::full) none = {};
  options.recompute = none;
  part.plain = memory::activation_profile(part.ops, options);
  if (layout.recompute.granularity == RecomputeGranularity::full) {
    options.recompute = layout.recompute;
    part.checkpointed = memory::activation_profile(part.ops, options);
  } else {
    part.checkpointed = part.plain;
  }
  part.time = block_time(part.timed, layout, rates_);
}

void Parts::cost_vision(const Layout& layout) {
  const VisionSpec& vision = *problem_.job.model.vision;
  // The tower is one list over its depth: full recompute keeps every layer's input and reruns one layer at a time.
  const Bytes layer_input(std::int64_t(vision_batch_.patches) * vision.hidden_size * kBf16Bytes);
  rates_.precision = Precision::bf16;
  cost_part(vision_encoder_, layout, MemoryTerm::saved_vision, layer_input * vision.depth);
  cost_part(vision_projector_, layout, MemoryTerm::saved_vision, layer_input);
  rates_.precision = problem_.job.training.precision;
  if (layout.recompute.granularity == RecomputeGranularity::full)
    vision_encoder_.checkpointed.recompute_working_set = vision_encoder_.checkpointed.recompute_working_set / vision.depth;
  vision_plain_ = together(vision_encoder_.plain, vision_projector_.plain);
  vision_checkpointed_ = together(vision_encoder_.checkpointed, vision_projector_.plain);
}

void Parts::cost(const Layout& layout) {
  const Bytes stream(shapes_.stream_tokens * shapes_.hidden * shapes_.e);
  for (Part& part : kinds_) cost_part(part, layout, std::nullopt, stream);
  for (Part* part : {&embedding_, &head_, &tied_head_}) cost_part(*part, layout, std::nullopt, stream);
  if (problem_.mtp_depth > 0)
    for (Part* part : {&mtp_first_, &mtp_more_}) cost_part(*part, layout, MemoryTerm::saved_mtp, stream);
  if (problem_.vision) cost_vision(layout);
}

}  // namespace shardfit::estimate
