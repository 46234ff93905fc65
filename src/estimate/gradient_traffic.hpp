// SPDX-License-Identifier: Apache-2.0
#pragma once

// The list of data-parallel collectives: one place that the time account and the traffic ledger both read.
// Formula: distributed optimizer, the layer-wise one too: reduce-scatter of the gradient buffer and gather of the parameters
//   once a step; no sharding: one all-reduce; optimizer_grads: reduce-scatter every micro-batch; full: two gathers and a
//   reduce-scatter of every unit every micro-batch. Instances: the inner group does that, an all-reduce of the shard
//   follows across instances. After that, with nothing to hide it: one all-reduce of the gradients of weights that tp does
//   not split (norms, router, ...) under sequence parallelism, one of the embedding's copies, one of two scalars (gradient
//   norm, overflow) over all ranks. Buffers go in buckets, FSDP's in units, a call each. With SHARP the all-reduces of the
//   dense group run in the network's switches (use_sharp is for one group, --sharp-enabled-group).
// Source: Megatron-LM d98e8a64 (2026-08) core/distributed/param_and_grad_buffer.py, core/distributed/fsdp, core/distributed/
//   finalize_model_grads.py (_allreduce_non_tensor_model_parallel_grads, _allreduce_embedding_grads),
//   core/optimizer/clip_grads.py:get_grad_norm_fp32; torch fully_shard.
// Ignores: token counts and losses (scalars), the router's expert bias (a number an expert), gradients of query and key
//   norms over tp where there is no sequence parallelism (a head's width a layer).

#include <algorithm>
#include <cmath>

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// One data-parallel collective of a stage, once a step unless `per_microbatch`.
struct DataParallelCall {
  const char* what = "";
  block::Group group = block::Group::dp_cp;
  block::CollectiveKind kind = block::CollectiveKind::reduce_scatter;
  GroupShape shape;
  double bytes = 0;      ///< of the whole tensor
  double calls = 1;      ///< a step
  bool gradient = true;  ///< behind backward (else a gather of parameters, behind forward)
  bool exposed = false;  ///< behind nothing: it needs the reduced gradients
  double seconds = 0;    ///< of one call
};

/// Every collective that data parallelism adds on a stage: gradients (reduce-scatter or all-reduce), parameters (gather),
/// HSDP's second level, FSDP's gathers of every micro-batch, tied and MTP embedding gradients, gradients of weights
/// replicated over TP (a published tower's are averaged), the gradient norm. Calls f(call).
template <class F>
void for_each_data_parallel_call(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                                 F f);

namespace detail {

/// Bytes of a gathered parameter: of linear layers one for per-tensor fp8 with fp8 gather, a half for packed nvfp4; mxfp8
/// is staged in bf16. All other parameters keep their own type (buffers are by dtype).
struct GatheredBytes {
  double linear = 2, other = 2;
};
inline GatheredBytes gathered_bytes(const TrainingSpec& t) {
  if (t.precision == Precision::fp32) return {4, 4};
  if (!t.fp8_param_gather) return {2, 2};
  const bool per_tensor = t.precision == Precision::fp8_tensorwise || t.precision == Precision::fp8_delayed;
  return {per_tensor ? 1 : t.precision == Precision::nvfp4 ? 0.5 : 2, 2};
}

/// Parameters of a rank that one data-parallel group holds, trainable and frozen, those of linear layers among them.
struct GroupParams {
  double trainable = 0, frozen = 0, linear = 0, frozen_linear = 0;
};

inline GroupParams dense_params(const memory::ParamCounts& p) {
  return {double(p.dense + p.dense_fp32), double(p.frozen_dense), double(p.linear_trainable_dense),
          double(p.linear_dense - p.linear_trainable_dense)};
}
inline GroupParams expert_params(const memory::ParamCounts& p) {
  return {double(p.expert + p.expert_fp32), double(p.frozen_expert), double(p.linear_trainable_expert),
          double(p.linear_expert - p.linear_trainable_expert)};
}
inline GroupParams operator+(const GroupParams& a, const GroupParams& b) {
  return {a.trainable + b.trainable, a.frozen + b.frozen, a.linear + b.linear, a.frozen_linear + b.frozen_linear};
}

/// Bytes of a gather of the trainable parameters, FSDP's of the frozen ones too.
inline double gather_size(const GroupParams& p, bool with_frozen, const GatheredBytes& each) {
  const double all = p.trainable + (with_frozen ? p.frozen : 0), linear = p.linear + (with_frozen ? p.frozen_linear : 0);
  return linear * each.linear + (all - linear) * each.other;
}

/// Buckets of the gradient buffers, one buffer a model chunk. The first chunk of the first stage, whose reduction has
/// little to hide behind, is cut into buckets of the larger of 40 million and `dp` million elements; other chunks are one
/// bucket. Source: Megatron-LM core/distributed/distributed_data_parallel.py, training/training.py (disable_bucketing).
inline double buckets(const Layout& layout, int stage, double elements, int dp) {
  if (stage > 0 || !layout.overlap.grad_reduce) return layout.vpp;
  return std::max(1.0, std::ceil(elements / layout.vpp / std::max(40e6, 1e6 * dp))) + layout.vpp - 1;
}

inline bool has_experts(const Part& part) {
  return part.params.expert + part.params.expert_fp32 + part.params.frozen_expert > 0;
}

/// Units that FSDP gathers and reduces one by one: the stage's layers (fsdp_unit_modules), and what stands beside them,
/// embeddings and heads. Experts of a group of their own: the layers that have some.
struct FsdpUnits {
  double dense = 1, expert = 1;
};
inline FsdpUnits fsdp_units(const Evaluation& e, int stage) {
  const StageWork& work = e.work(stage);
  double dense = work.embeddings + work.heads, expert = 0;
  const auto count = [&](const Part& part, int layers) {
    dense += layers;
    if (has_experts(part)) expert += layers;
  };
  for (std::size_t k = 0; k < work.layers.size(); ++k) count(e.parts.kind(int(k)), work.layers[k]);
  if (work.mtp_layers > 0) count(e.parts.mtp(true), work.mtp_layers);
  return {std::max(1.0, dense), std::max(1.0, expert)};
}

}  // namespace detail

template <class F>
void for_each_data_parallel_call(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                                 F f) {
  using block::CollectiveKind;
  using block::Group;
  const TrainingSpec& training = problem.job.training;
  const memory::ParamCounts& params = stage_params(problem, e, stage);
  const bool apart = experts_apart(layout);
  const int instances = layout.optimizer_instances;
  const double m = grid.microbatches;
  const double gradient = bytes_of(training.optimizer.grad_buffer_dtype);
  const detail::GatheredBytes gathered = detail::gathered_bytes(training);

  const auto emit = [&](DataParallelCall call) {
    if (call.shape.size <= 1 || call.bytes <= 0) return;
    comm::Network network = e.parts.network();
    network.sharp = call.group == Group::dp_cp && problem.job.stack.use_sharp && problem.job.hardware.fabric.sharp;
    call.seconds = comm::collective_time(call.kind, call.bytes, e.parts.links_of(call.shape), network);
    f(call);
  };
  const GroupShapes shapes = group_shapes(layout, grid);
  const detail::FsdpUnits units = detail::fsdp_units(e, stage);
  const auto group_calls = [&](const detail::GroupParams& of, GroupShape shape, Group group, const char* reduce,
                               const char* gather) {
    const double elements = of.trainable;
    const GroupShape inner = inner_instance(shape, instances), outer = across_instances(shape, instances);
    const bool full = layout.sharding == Sharding::full || layout.sharding == Sharding::full_torch;
    const bool every = full || layout.sharding == Sharding::optimizer_grads;
    const bool sync_every = layout.sharding != Sharding::full_torch || problem.job.stack.gradient_sync_every_microbatch;
    const double reduces = every && sync_every ? m : 1;
    const auto emit_pieces = [&](DataParallelCall call, double pieces) {
      call.bytes /= pieces;
      call.calls *= pieces;
      emit(call);
    };
    const double pieces = !every                ? detail::buckets(layout, stage, elements, grid.dp)
                          : group == Group::edp ? units.expert
                                                : units.dense;
    if (layout.sharding == Sharding::none) {
      emit_pieces({reduce, group, CollectiveKind::all_reduce, shape, elements * gradient, 1, true}, pieces);
      return;
    }
    emit_pieces({reduce, group, CollectiveKind::reduce_scatter, inner, elements * gradient, reduces, true}, pieces);
    emit_pieces(
        {gather, group, CollectiveKind::all_gather, inner, detail::gather_size(of, full, gathered), full ? 2 * m : 1, false},
        pieces);
    emit({"gradient shards across instances", group, CollectiveKind::all_reduce, outer, elements * gradient / inner.size, 1,
          true});
  };
  const detail::GroupParams dense = detail::dense_params(params), experts = detail::expert_params(params);
  group_calls(apart ? dense : dense + experts, shapes.dp_cp, Group::dp_cp, "dense gradients", "dense parameters");
  if (apart) group_calls(experts, shapes.edp, Group::edp, "expert gradients", "expert parameters");

  // A copy of the embedding on the first and on the last stage (tied), or on the MTP stage: their gradients are summed.
  const block::Shapes& s = e.parts.shapes();
  const bool copies = problem.job.model.text.tie_word_embeddings || problem.mtp_depth > 0;
  const Chunk& last = e.plan.at(stage, layout.vpp - 1);
  if (layout.pp > 1 && copies && s.train_weights && (e.plan.at(stage, 0).embedding || last.head || last.mtp_layers))
    emit({"embedding gradient", Group::embedding, CollectiveKind::all_reduce, shapes.ends,
          double(s.vocab / s.tp * s.hidden) * gradient, 1, true, true});
  if (layout.sequence_parallel)
    emit({"gradients of weights that tp repeats",
          Group::tp,
          CollectiveKind::all_reduce,
          {layout.tp, 1},
          double(params.replicated) * gradient,
          1,
          true,
          true});
  // Megatron's finalize_model_grads; tools of torch keep towers in the sharded module, whose gradients are reduced with
  // the rest.
  if (e.work(stage).vision && problem.job.stack.framework == Framework::megatron &&
      !tower_build(problem.job.model, problem.job.stack).split_over_tp) {
    const double tower = double(e.parts.vision_ends().params.dense + e.parts.vision_layers().params.dense +
                                e.parts.vision_projector().params.dense);
    const double shards = layout.sharding == Sharding::full ? shapes.dp_cp.size / instances : 1;
    emit({"gradients of the tower, averaged over tp",
          Group::tp,
          CollectiveKind::all_reduce,
          {layout.tp, 1},
          tower * gradient / shards,
          1,
          true,
          true});
  }
  constexpr double kNormBytes = 8;  // the squared norm, and whether any gradient overflowed
  emit({"gradient norm", Group::world, CollectiveKind::all_reduce, {problem.job.gpus, 1}, kNormBytes, 1, true, true});
}

}  // namespace shardfit::estimate
