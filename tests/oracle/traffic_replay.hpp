// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "layer_traffic.hpp"

// Every collective of every group of every micro-batch of a layout, played rank by rank.

namespace shardfit {

class Replay : public LayerTraffic {
 public:
  Replay(const Model& model, const Scenario& scenario) : LayerTraffic(model, scenario) {
    for (int stage = 0; stage < l_.pp; ++stage) {
      play_layers(stage);
      play_edges(stage);
      play_pipeline(stage);
      play_step(stage);
    }
  }

  /// Bytes of a rank over its host link in a step, by phase. Activations of the offloaded modules leave in forward and come
  /// back in backward; of the optimizer's part on the host, gradients leave and weights come, in fp32.
  std::map<std::string, double> host_bytes(int stage) const {
    std::map<std::string, double> bytes;
    const double heads = m_.heads * m_.d / l_.tp, kv_heads = 2 * m_.kv_heads * m_.d / l_.tp;
    double kept = 0;  // of a layer
    if (l_.offload.activation_modules.contains(OffloadModule::core_attn)) kept += n_ * (heads + kv_heads) * kBf16;
    if (l_.offload.activation_modules.contains(OffloadModule::attn_proj)) kept += n_ * heads * kBf16;
    if (kept > 0) bytes["forward"] = bytes["backward"] = kept * calls();
    const Params p = params(stage);
    const double shard = p.dense / shapes_.dp_cp.size + p.expert / shapes_.edp.size;
    if (l_.offload.optimizer_fraction > 0) bytes["step"] = 2 * kFp32 * l_.offload.optimizer_fraction * shard;
    return bytes;
  }

 private:
  void play_edges(int stage) {
    const double m = grid_.microbatches;
    if (stage == 0) {
      if (sp_)
        scatter(stage, shapes_.tp, "tp", "forward", stream(), m), gather(stage, shapes_.tp, "tp", "backward", stream(), m);
      else
        reduce(stage, shapes_.tp, "tp", "forward", stream(), m);
    }
    if (stage + 1 < l_.pp) return;
    if (sp_) gather(stage, shapes_.tp, "tp", "forward", stream(), m);
    column_backward(stage, stream(), m);  // the head stays in bf16
    const double reductions = job_.stack.cross_entropy == CrossEntropy::unfused ? 3 : 2;
    reduce(stage, shapes_.tp, "tp", "forward", n_ * kFp32, reductions * m);
  }

  void play_pipeline(int stage) {
    const double bytes = (sp_ ? n_ / l_.tp : n_) * m_.h * kBf16 * grid_.microbatches;
    for (const int r : ranks_of(stage)) {
      DenseCoordinates next = dense_coordinates(l_, grid_, r), before = next;
      next.pp = (stage + 1) % l_.pp;
      before.pp = (stage + l_.pp - 1) % l_.pp;
      const int forward = l_.vpp - (stage + 1 == l_.pp), backward = l_.vpp - (stage == 0);
      if (l_.pp == 1) continue;
      wire_.send({"pp", "send_recv", "forward"}, r, rank_of(l_, grid_, next), forward * bytes);
      wire_.send({"pp", "send_recv", "backward"}, r, rank_of(l_, grid_, before), backward * bytes);
    }
  }

  /// Padded so that every rank has a multiple of as many rows.
  double vocabulary() const {
    const double step = double(job_.training.vocab_padding_multiple) * l_.tp;
    return std::ceil(m_.vocab / step) * step;
  }

  /// Parameters of a rank: dense grid, expert grid, and those of the dense grid that tp repeats.
  /// And of linear layers, which fp8 gathers narrow.
  struct Params {
    double dense, expert, repeated, linear_dense, linear_expert;
  };
  Params params(int stage) const {
    const bool last = stage + 1 == l_.pp, apart = l_.ep > 1 || l_.etp != l_.tp;
    const double attention = m_.h * (m_.heads + 2 * m_.kv_heads) * m_.d / l_.tp + m_.heads * m_.d * m_.h / l_.tp;
    const double experts = m_.experts ? m_.experts / l_.ep * 3 * m_.h * m_.f / l_.etp : 0;
    const double mlp = m_.experts ? 0 : 3 * m_.h * m_.f / l_.tp;
    const double repeated = layers() * (2 * m_.h + m_.h * m_.experts) + (last ? m_.h : 0);
    double dense = layers() * (attention + mlp) + repeated;
    const double table = vocabulary() / l_.tp * m_.h;
    const bool tied = job_.model.text.tie_word_embeddings;
    if (stage == 0) dense += table;
    if (last && !(tied && l_.pp == 1)) dense += table;
    const double together = apart ? 0 : layers() * experts, in_edp = apart ? layers() * experts : 0;
    return {dense + together, in_edp, repeated, layers() * (attention + mlp) + together, in_edp};
  }

  /// Bytes of parameters as they are gathered: fp8 ones where the job says so (mxfp8 is staged in bf16).
  double gathered(double elements, double linear) const {
    const bool narrow = job_.training.fp8_param_gather && job_.training.precision == Precision::fp8_tensorwise;
    return (elements - linear) * kBf16 + linear * (narrow ? 1 : kBf16);
  }
  void shard(int stage, GroupShape shape, const char* group, double elements, double linear, double gradient) {
    const GroupShape inner = inner_instance(shape, l_.optimizer_instances),
                     outer = across_instances(shape, l_.optimizer_instances);
    const double m = grid_.microbatches;
    if (l_.sharding == Sharding::none) return reduce(stage, shape, group, "step", elements * gradient);
    const bool full = l_.sharding == Sharding::full, every = full || l_.sharding == Sharding::optimizer_grads;
    scatter(stage, inner, group, "step", elements * gradient, every ? m : 1);
    gather(stage, inner, group, "step", gathered(elements, linear), full ? 2 * m : 1);
    reduce(stage, outer, group, "step", elements * gradient / inner.size);
  }
  void play_step(int stage) {
    const double gradient = bytes_of(job_.training.optimizer.grad_buffer_dtype);
    const Params p = params(stage);
    shard(stage, shapes_.dp_cp, "dp_cp", p.dense, p.linear_dense, gradient);
    shard(stage, shapes_.edp, "edp", p.expert, p.linear_expert, gradient);
    if (sp_) reduce(stage, shapes_.tp, "tp", "step", p.repeated * gradient);
    // A stage between the ends plays no part; each end plays its own half of the pair.
    if (job_.model.text.tie_word_embeddings && l_.pp > 1 && (stage == 0 || stage + 1 == l_.pp))
      for (const int r : ranks_of(stage)) {
        DenseCoordinates at = dense_coordinates(l_, grid_, r);
        at.pp = stage == 0 ? l_.pp - 1 : 0;
        wire_.send({"embedding", "all_reduce", "step"}, r, rank_of(l_, grid_, at), vocabulary() / l_.tp * m_.h * gradient);
      }
    if (stage == 0) {
      std::vector<int> all(std::size_t(job_.gpus));
      std::iota(all.begin(), all.end(), 0);
      Players{wire_, all}.reduce({"world", "all_reduce", "step"}, 8);
    }
  }
};

}  // namespace shardfit
