// SPDX-License-Identifier: Apache-2.0
#pragma once

// The list of data-parallel collectives: one place that the time account and the traffic ledger both read.
// Formula: distributed optimizer: reduce-scatter of the gradient buffer and gather of the parameters once a step; no
//   sharding: one all-reduce; optimizer_grads: reduce-scatter every micro-batch; full: two gathers and a
//   reduce-scatter of every unit every micro-batch. Instances: the inner group does that, an all-reduce of the shard
//   follows across instances. After that, with nothing to hide it: one all-reduce of the gradients of weights that tp does
//   not split (norms, router, ...) under sequence parallelism, one of the embedding's copies, one of two scalars (gradient
//   norm, overflow) over all ranks. Buffers go in buckets, FSDP's in units, a call each.
// Source: Megatron-LM core/distributed/param_and_grad_buffer.py, core/distributed/fsdp, core/distributed/
//   finalize_model_grads.py (_allreduce_non_tensor_model_parallel_grads, _allreduce_embedding_grads),
//   core/optimizer/clip_grads.py:get_grad_norm_fp32; torch fully_shard.
// Ignores: token counts and losses (scalars), the router's expert bias (a number an expert).

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
  double bytes = 0;                ///< of the whole tensor
  double calls = 1;                ///< a step
  bool gradient = true;            ///< behind backward (else a gather of parameters, behind forward)
  bool exposed = false;            ///< behind nothing: it needs the reduced gradients
  double seconds = 0;              ///< of one call
};

/// Every collective that data parallelism adds on a stage: gradients (reduce-scatter or all-reduce), parameters (gather),
/// HSDP's second level, FSDP's gathers of every micro-batch, tied and MTP embedding gradients, gradients of weights
/// replicated over TP (a published tower's are averaged), the gradient norm. Calls f(call).
template <class F>
void for_each_data_parallel_call(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                 int stage, F f);

/// Exposed and hidden seconds of a step.
struct DataParallelTime { double exposed = 0, hidden = 0; };
/// `reductions`, `gathers`: seconds of a step's calls; `microbatch_s`: of the stage, both directions.
DataParallelTime data_parallel_time(const Layout& layout, const GridSizes& grid, double reductions, double gathers,
                                    double microbatch_s);

namespace detail {

/// Bytes of a gathered parameter: one for per-tensor fp8 with fp8 gather; mxfp8 is staged in bf16; packed nvfp4 a half.
inline double gathered_bytes(const TrainingSpec& t) {
  if (t.precision == Precision::fp32) return 4;
  if (!t.fp8_param_gather) return 2;
  const bool per_tensor = t.precision == Precision::fp8_tensorwise || t.precision == Precision::fp8_delayed;
  return per_tensor ? 1 : t.precision == Precision::nvfp4 ? 0.5 : 2;
}

/// Buckets of a gradient buffer: on the first stage, where they hide behind backward, of the larger of 40 million and a
/// million elements a rank of the group; elsewhere one. Source: Megatron-LM core/distributed/distributed_data_parallel.py.
inline double buckets(const Layout& layout, int stage, double elements, int ranks) {
  if (stage > 0 || !layout.overlap.grad_reduce) return 1;
  return std::max(1.0, std::ceil(elements / std::max(40e6, 1e6 * ranks)));
}

/// Units that FSDP gathers and reduces one by one: the stage's layers, embeddings and heads.
inline double fsdp_units(const StageWork& work) {
  double units = work.embeddings + work.mtp_layers + work.heads;
  for (const int layers : work.layers) units += layers;
  return std::max(1.0, units);
}

}  // namespace detail

template <class F>
void for_each_data_parallel_call(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                 int stage, F f) {
  using block::CollectiveKind;
  using block::Group;
  const TrainingSpec& training = problem.job.training;
  const memory::ParamCounts params = stage_params(problem, e.parts, e.plan, stage);
  const bool apart = experts_apart(layout);
  const int instances = layout.optimizer_instances;
  const double m = grid.microbatches;
  const double gradient = bytes_of(training.optimizer.grad_buffer_dtype), gathered = detail::gathered_bytes(training);

  const auto emit = [&](DataParallelCall call) {
    if (call.shape.size <= 1 || call.bytes <= 0) return;
    call.seconds = comm::collective_time(call.kind, call.bytes, e.parts.links_of(call.shape), e.parts.network());
    f(call);
  };
  const GroupShapes shapes = group_shapes(layout, grid);
  const auto group_calls = [&](double elements, double frozen, GroupShape shape, Group group, const char* reduce,
                               const char* gather) {
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
    const double pieces = every ? detail::fsdp_units(e.work(stage)) : detail::buckets(layout, stage, elements, shape.size);
    if (layout.sharding == Sharding::none || layout.sharding == Sharding::layerwise) {
      emit_pieces({reduce, group, CollectiveKind::all_reduce, shape, elements * gradient, 1, true}, pieces);
      return;
    }
    emit_pieces({reduce, group, CollectiveKind::reduce_scatter, inner, elements * gradient, reduces, true}, pieces);
    emit_pieces({gather, group, CollectiveKind::all_gather, inner, (elements + (full ? frozen : 0)) * gathered,
                 full ? 2 * m : 1, false}, pieces);
    emit({"gradient shards across instances", group, CollectiveKind::all_reduce, outer,
          elements * gradient / inner.size, 1, true});
  };
  const double dense = double(params.dense + params.dense_fp32) + (apart ? 0.0 : double(params.expert + params.expert_fp32));
  const double frozen = double(params.frozen_dense) + (apart ? 0.0 : double(params.frozen_expert));
  group_calls(dense, frozen, shapes.dp_cp, Group::dp_cp, "dense gradients", "dense parameters");
  if (apart)
    group_calls(double(params.expert + params.expert_fp32), double(params.frozen_expert), shapes.edp,
                Group::edp, "expert gradients", "expert parameters");

  // A copy of the embedding on the first and on the last stage (tied), or on the MTP stage: their gradients are summed.
  const block::Shapes& s = e.parts.shapes();
  const bool copies = problem.job.model.text.tie_word_embeddings || problem.mtp_depth > 0;
  const Chunk& last = e.plan.at(stage, layout.vpp - 1);
  if (layout.pp > 1 && copies && s.train_weights && (e.plan.at(stage, 0).embedding || last.head || last.mtp_layers))
    emit({"embedding gradient", Group::embedding, CollectiveKind::all_reduce, shapes.ends,
          double(s.vocab / s.tp * s.hidden) * gradient, 1, true, true});
  if (layout.sequence_parallel)
    emit({"gradients of weights that tp repeats", Group::tp, CollectiveKind::all_reduce, {layout.tp, 1},
          double(params.replicated) * gradient, 1, true, true});
  if (e.work(stage).vision && !tower_build(problem.job.model, problem.job.stack).split_over_tp) {
    const double tower = double(e.parts.vision_ends().params.dense + e.parts.vision_layers().params.dense +
                                e.parts.vision_projector().params.dense);
    const double shards = layout.sharding == Sharding::full ? shapes.dp_cp.size / instances : 1;
    emit({"gradients of the tower, averaged over tp", Group::tp, CollectiveKind::all_reduce, {layout.tp, 1},
          tower * gradient / shards, 1, true, true});
  }
  constexpr double kNormBytes = 8;   // the squared norm, and whether any gradient overflowed
  emit({"gradient norm", Group::world, CollectiveKind::all_reduce, {problem.job.gpus, 1}, kNormBytes, 1, true, true});
}

}  // namespace shardfit::estimate
