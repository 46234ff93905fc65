// SPDX-License-Identifier: Apache-2.0
#include "memory/static_state.hpp"

#include "memory/master_cast.hpp"
#include "memory/state_widths.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

// clang-format off
// Computes:   weights, quantised copies, gradients, master weights and moments of one rank.
// Formula:    elements x bytes, each divided by the ranks that share it:
//               sharding          weights   gradients   master, moments
//               none              1         1           1
//               optimizer         1         1           1/d   contiguous padded buffers
//               optimizer_grads   1         1/d         1/d   Megatron-FSDP
//               full              1/d       1/d         1/d   Megatron-FSDP
//               full_torch        1/d       1/d         1/d   FSDP2; without Megatron the shards are the master
//               layerwise         1         1           whole matrices a rank for Muon, 1/d for the rest; in older
//                                                       code whole tensors of any kind (whole_tensors.cpp)
//             d = dp*cp/instances for dense parameters, edp/instances for experts. Experts that are not
//             split apart (ep = 1, etp = tp) have edp = dp*cp, so one rule serves both.
//             Optimizer offload moves the moments of a fraction to the host. Their master weights go too
//             where the precision-aware optimizer leaves it to the offloading one to make them; else the
//             distributed optimizer made them on the device first, they stay, and the host has a copy.
// Source:     Megatron-LM core/distributed/param_and_grad_buffer.py, core/optimizer/distrib_optimizer.py,
//             param_layout.py, layer_wise_optimizer.py,
//             core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py,
//             core/optimizer/cpu_offloading/hybrid_optimizer.py.
// Valid when: the layout passes the rules.
// Ignores:    where a buffer's buckets end. Each bucket and chunk pads by less than lcm(d, 128) elements,
//             under 2 KB a bucket up to 128 ranks; the closed form pads once a class, the same in the sweep
//             and in a full estimate.
// Checked by: tests/memory/static_state_test.cpp, which walks the buffer parameter by parameter.
// clang-format on

namespace shardfit::memory {

namespace {

/// Bucket ends of the distributed optimizer's buffer are multiples of lcm(ranks, 128). Source: Megatron-LM
/// core/optimizer/param_layout.py. Kind: read.
constexpr std::int64_t kBucketAlignment = 128;

/// Layer-wise optimizer: a shard may pass the average by 30 % if that lets the matrices pack. Source:
/// Megatron-LM core/optimizer/layer_wise_optimizer.py. Kind: read.
constexpr double kLayerwiseSlack = 1.3;

constexpr int kFp32Bytes = 4;
/// Bytes an element of Muon's largest matrix while it is orthogonalised: the fp32 update and two bf16
/// iterates, the Gram matrix among them. Source: Newton-Schulz iteration of Megatron-LM's Muon. Kind:
/// assumed.
constexpr int kOrthogonalizeBytes = 8;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t ceil_to(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }

/// Elements of one grid (dense or expert) and how the ranks split them.
struct Grid {
  std::int64_t low = 0, fp32 = 0, frozen = 0, gaps = 0;  ///< low: in the parameter dtype
  std::int64_t linear = 0, linear_trainable = 0;
  std::int64_t matrices = 0, largest = 0;
  int shards = 1;
};

Grid dense_grid(const StaticInputs& in) {
  const ParamCounts& p = in.params;
  return {p.dense,
          p.dense_fp32,
          p.frozen_dense,
          p.gaps_dense,
          p.linear_dense,
          p.linear_trainable_dense,
          p.matrices - p.matrices_expert,
          p.largest_matrix,
          in.dense_shards};
}

Grid expert_grid(const StaticInputs& in) {
  const ParamCounts& p = in.params;
  return {p.expert,          p.expert_fp32,           p.frozen_expert,
          p.gaps_expert,     p.linear_expert,         p.linear_trainable_expert,
          p.matrices_expert, p.largest_matrix_expert, in.expert_shards};
}

/// What a rank has of a class of `elements`: in the weight buffer, in the gradient buffer, in the optimizer.
struct Share {
  std::int64_t weights = 0, gradients = 0, state = 0;
};

Share share_of(Sharding sharding, std::int64_t elements, std::int64_t gaps, int shards) {
  const std::int64_t part = ceil_div(elements, shards);
  switch (sharding) {
    case Sharding::none: return {elements, elements, elements};
    case Sharding::optimizer:
    case Sharding::layerwise: {
      const BufferShare b = buffer_share(elements, gaps, shards);
      return {b.padded, b.padded, b.held};
    }
    case Sharding::optimizer_grads: return {elements, part, part};
    case Sharding::full:
    case Sharding::full_torch: return {part, part, part};
    case Sharding::count: break;
  }
  return {};
}

/// Layer-wise buffers hold whole matrices in equal shards: each as large as the fullest.
std::int64_t layerwise_shard(const Grid& g) {
  if (g.matrices == 0) return 0;
  const std::int64_t average = ceil_div(g.matrices, g.shards);
  const std::int64_t whole = ceil_to(average, g.largest);
  const auto slack = std::int64_t(std::ceil(kLayerwiseSlack * double(average)));
  return std::max({g.largest, average, std::min(whole, slack)});
}

void add_master_and_moments(std::int64_t state, std::int64_t quantized_state, const Widths& w, StaticState& s) {
  s.master_weights += Bytes((state - quantized_state) * w.master + quantized_state * w.master_quantized);
  s.exp_avg += Bytes(state * w.exp_avg);
  s.exp_avg_sq += Bytes(state * w.exp_avg_sq);
  s.gradient_copy_fp32 += Bytes(state * w.gradient_copy);
}

/// Matrices under the layer-wise optimizer: a master weight and one moment of what the rank owns. Megatron-LM lays
/// its buffers out in equal shards that split no matrix; Megatron-Bridge wraps its model without that layout.
void add_layerwise(const Grid& g, const StaticInputs& in, const Widths& w, StaticState& s) {
  const std::int64_t owned = layerwise_shard(g);
  const std::int64_t buffer = in.shard_aligned_buffers ? owned * g.shards : g.matrices;
  s.weights += Bytes(buffer * w.weight);
  s.gradients += Bytes(buffer * w.gradient);
  s.master_weights += Bytes(owned * w.master);
  s.exp_avg += Bytes(owned * w.exp_avg);
  s.gradient_copy_fp32 += Bytes(owned * w.gradient_copy);
}

/// The same where whole tensors are dealt out: no buffer is laid out, and what is not Muon's is owned whole too.
void add_owned(const Grid& g, const OwnedTensors& owned, const Widths& w, StaticState& s) {
  const std::int64_t all = owned.matrices + owned.others;
  s.weights += Bytes(g.low * w.weight + g.fp32 * kFp32Bytes);
  s.gradients += Bytes(g.low * w.gradient + g.fp32 * kFp32Bytes);
  s.master_weights += Bytes(all * w.master);
  s.exp_avg += Bytes(all * w.exp_avg);
  s.exp_avg_sq += Bytes(owned.others * w.exp_avg_sq);
  s.gradient_copy_fp32 += Bytes(all * w.gradient_copy);
}

bool shards_weights(Sharding s) { return s == Sharding::full || s == Sharding::full_torch; }

/// Weights that no optimizer sees, and those that the optimizer keeps in fp32 anyway.
void add_frozen_and_fp32(const Grid& g, const StaticInputs& in, const Widths& w, StaticState& s) {
  s.weights += Bytes((shards_weights(in.sharding) ? ceil_div(g.frozen, g.shards) : g.frozen) * w.weight);
  if (g.fp32 == 0) return;
  const Share full = share_of(in.sharding, g.fp32, 0, g.shards);
  s.weights += Bytes(full.weights * kFp32Bytes);
  s.gradients += Bytes(full.gradients * kFp32Bytes);
  s.exp_avg += Bytes(full.state * w.exp_avg);
  s.exp_avg_sq += Bytes(full.state * w.exp_avg_sq);
}

void add_grid(const Grid& g, const std::optional<OwnedTensors>& owned, const StaticInputs& in, const Widths& w,
              StaticState& s) {
  const bool layerwise = in.sharding == Sharding::layerwise;
  const QuantizedForms q = quantized_forms(in.precision, in.fp8_param_gather, in.generation, in.transpose_cache);
  if (layerwise && owned) {
    s.weights += Bytes(g.frozen * w.weight - (q.keeps_bf16 ? 0 : g.linear * w.weight));
    s.quantized_weights += Bytes(std::llround(double(g.linear) * q.bytes));
    return add_owned(g, *owned, w, s);
  }
  add_frozen_and_fp32(g, in, w, s);
  if (layerwise) add_layerwise(g, in, w, s);
  const std::int64_t ordinary = layerwise ? g.low - g.matrices : g.low;
  const int weight_shards = shards_weights(in.sharding) ? g.shards : 1;
  const std::int64_t linear = ceil_div(g.linear, weight_shards);
  const Share share = share_of(in.sharding, ordinary, g.gaps, g.shards);
  s.weights += Bytes(share.weights * w.weight);
  s.gradients += Bytes(share.gradients * w.gradient);
  std::int64_t quantized_state = 0;
  if (!q.keeps_bf16) {
    s.weights -= Bytes(linear * w.weight);
    if (!layerwise) quantized_state = share_of(in.sharding, g.linear_trainable, 0, g.shards).state;
  }
  s.quantized_weights += Bytes(std::llround(double(linear) * q.bytes));
  quantized_state = std::min(quantized_state, share.state);
  add_master_and_moments(share.state, quantized_state, w, s);
  s.optimizer_step = std::max(s.optimizer_step, master_cast_bytes(in, quantized_state, g.linear_trainable));
  if (!w.muon || layerwise) return;
  s.exp_avg_sq -= Bytes(share_of(in.sharding, g.matrices, 0, g.shards).state * w.exp_avg_sq);
  s.exp_avg_sq = std::max(s.exp_avg_sq, Bytes(0));
}

Bytes take_fraction(Bytes& from, double fraction) {
  const Bytes taken(std::llround(double(from.value) * fraction));
  from -= taken;
  return taken;
}

}  // namespace

BufferShare buffer_share(std::int64_t elements, std::int64_t gaps, int shards) {
  if (elements == 0) return {};
  const std::int64_t padded = ceil_to(elements + gaps, std::lcm(std::int64_t(shards), kBucketAlignment));
  return {padded, std::min(elements, padded / shards - gaps / shards)};
}

StaticState static_state(const StaticInputs& in) {
  const Widths w = widths(in);
  StaticState s;
  add_grid(dense_grid(in), in.owned_dense, in, w, s);
  add_grid(expert_grid(in), in.owned_expert, in, w, s);
  s.weights += Bytes(in.params.buffers * kFp32Bytes);
  s.quantized_weights += Bytes(in.params.copy_bytes);
  if (in.optimizer.kind == OptimizerKind::muon) {
    const std::int64_t largest = std::max(in.params.largest_matrix * in.tp, in.params.largest_matrix_expert);
    s.optimizer_step = std::max(s.optimizer_step, Bytes(largest * kOrthogonalizeBytes));
  }
  for (Bytes* part : {&s.exp_avg, &s.exp_avg_sq}) s.on_host += take_fraction(*part, in.optimizer_offload);
  if (in.optimizer.precision_aware) s.on_host += take_fraction(s.master_weights, in.optimizer_offload);
  return s;
}

}  // namespace shardfit::memory
