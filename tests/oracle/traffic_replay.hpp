// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/spec/scenario.hpp"
#include "traffic_wire.hpp"

// Every collective of every group of every micro-batch of a layout, played rank by rank.

namespace shardfit {

/// Sizes of the two models played: Llama 3 8B (dense) and Mixtral 8x7B (8 experts, top 2).
struct Model {
  const char* name;
  double layers, h, heads, kv_heads, d, f, vocab;
  int experts;
};
inline constexpr Model kDense{"Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256, 0};
inline constexpr Model kMoe{"Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, 8};

class Replay {
 public:
  Replay(const Model& model, const Scenario& scenario)
      : m_(model), job_(scenario.job), l_(scenario.base), grid_(grid_sizes(l_, job_.gpus, job_.training.global_batch_size)),
        shapes_(group_shapes(l_, grid_)), wire_(job_.gpus) {
    n_ = double(job_.training.sequence_length) * l_.micro_batch_size / l_.cp;
    sp_ = l_.sequence_parallel;
    for (int stage = 0; stage < l_.pp; ++stage) {
      play_layers(stage);
      play_edges(stage);
      play_pipeline(stage);
      play_step(stage);
    }
  }
  const Wire& wire() const { return wire_; }

  /// Bytes of a rank over its host link in a step, by phase. Activations of the offloaded modules leave in forward and come
  /// back in backward; of the optimizer's part on the host, gradients leave and weights come, in fp32.
  std::map<std::string, double> host_bytes(int stage) const {
    std::map<std::string, double> bytes;
    const double heads = m_.heads * m_.d / l_.tp, kv_heads = 2 * m_.kv_heads * m_.d / l_.tp;
    double kept = 0;   // of a layer
    if (l_.offload.activation_modules.contains(OffloadModule::core_attn)) kept += n_ * (heads + kv_heads) * kBf16;
    if (l_.offload.activation_modules.contains(OffloadModule::attn_proj)) kept += n_ * heads * kBf16;
    if (kept > 0) bytes["forward"] = bytes["backward"] = kept * calls();
    const Params p = params(stage);
    const double shard = p.dense / shapes_.dp_cp.size + p.expert / shapes_.edp.size;
    if (l_.offload.optimizer_fraction > 0) bytes["step"] = 2 * kFp32 * l_.offload.optimizer_fraction * shard;
    return bytes;
  }
  std::vector<int> ranks_of(int stage) const {
    std::vector<int> ranks;
    for (int r = 0; r < job_.gpus; ++r)
      if (dense_coordinates(l_, grid_, r).pp == stage) ranks.push_back(r);
    return ranks;
  }

 private:
  template <class F>
  void on_groups(int stage, GroupShape shape, F play) {
    if (shape.size == 1) return;
    std::map<std::vector<int>, bool> done;
    for (const int r : ranks_of(stage))
      if (done.emplace(group_members(shape, r), true).second) play(Players{wire_, group_members(shape, r)});
  }
  void gather(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.gather({group, "all_gather", phase}, times * bytes); });
  }
  void scatter(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.gather({group, "reduce_scatter", phase}, times * bytes); });
  }
  void reduce(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.reduce({group, "all_reduce", phase}, times * bytes); });
  }

  double layers() const { return m_.layers / l_.pp; }
  double calls() const { return layers() * grid_.microbatches; }
  double stream() const { return n_ * m_.h * kBf16; }
  /// The same as a product of the job's precision reads it: one copy, and both copies that the products of backward read.
  double stream_read() const { return n_ * m_.h * width_read(); }
  double gradient_read() const { return n_ * m_.h * width_read() * (by_block() ? 2 : 1); }
  double width_read() const {
    switch (job_.training.precision) {
      case Precision::fp8_tensorwise: return 1;
      case Precision::mxfp8: return 1 + 1.0 / 32;         // a byte of scale for 32
      case Precision::fp8_blockwise: return 1 + 4.0 / 128; // fp32 for 128
      case Precision::nvfp4: return 0.5 + 1.0 / 16;        // a byte for 16
      default: return kBf16;
    }
  }
  bool by_block() const {
    const Precision p = job_.training.precision;
    return p == Precision::mxfp8 || p == Precision::fp8_blockwise || p == Precision::nvfp4;
  }

  /// `input`: bytes of what the column linear reads.
  void column_backward(int stage, double input, double times) {
    if (sp_) {
      gather(stage, shapes_.tp, "tp", "backward", input, times);
      scatter(stage, shapes_.tp, "tp", "backward", stream(), times);
    } else {
      reduce(stage, shapes_.tp, "tp", "backward", stream(), times);
    }
  }
  void tp_forward(int stage, const char* phase, double blocks, double times) {
    if (sp_) {
      gather(stage, shapes_.tp, "tp", phase, stream_read(), blocks * times);
      scatter(stage, shapes_.tp, "tp", phase, stream(), blocks * times);
    } else {
      reduce(stage, shapes_.tp, "tp", phase, stream(), blocks * times);
    }
  }

  /// Attention in fp8 sends q, k, v and the result's gradient in a byte (with scales a tensor).
  bool narrow() const { return job_.training.fp8_attention && job_.training.precision == Precision::fp8_tensorwise; }
  double operand() const { return narrow() ? 1 : kBf16; }
  void cp_ring(int stage, GroupShape shape, const char* group, const char* phase, bool backward, double times) {
    const double kv = n_ * 2 * m_.kv_heads * m_.d / l_.tp, gradients = backward && !narrow() ? kBf16 : 0;
    on_groups(stage, shape, [&](const Players& p) {
      p.pass_on({group, "send_recv", phase}, times * kv * (operand() + gradients), p.size() - 1);
      if (backward && narrow()) p.exchange({group, "all_to_all", phase}, times * kv * p.size());   // a byte for every member
    });
  }
  void cp_exchange(int stage, GroupShape shape, const char* group, const char* phase, bool backward, double times) {
    const double q_k_v = (m_.heads + 2 * m_.kv_heads) * (backward ? kBf16 : operand());
    const double result = m_.heads * (backward ? operand() : kBf16);
    on_groups(stage, shape, [&](const Players& p) {
      p.exchange({group, "all_to_all", phase}, times * n_ * (q_k_v + result) * m_.d / l_.tp);
    });
  }
  void context(int stage, const char* phase, bool backward, double times) {
    const double kv = n_ * l_.cp * 2 * m_.kv_heads * m_.d / l_.tp;
    const int ring = hierarchical_cp_ring(l_.cp), inner = l_.cp / ring;
    switch (l_.cp_comm_type) {
      case CpCommType::a2a: return cp_exchange(stage, shapes_.cp, "cp", phase, backward, times);
      case CpCommType::a2a_p2p:
        cp_exchange(stage, {inner, l_.tp}, "cp_a2a", phase, backward, times);
        return cp_ring(stage, {ring, l_.tp * inner}, "cp_p2p", phase, backward, times);
      case CpCommType::all_gather:
        gather(stage, shapes_.cp, "cp", phase, kv * operand(), times);
        if (backward) scatter(stage, shapes_.cp, "cp", phase, kv * kBf16, times);
        return;
      default: return cp_ring(stage, shapes_.cp, "cp", phase, backward, times);
    }
  }

  /// One way of the tokens; `kind` is the collective's name.
  void experts(int stage, const char* collective, const char* phase, double times) {
    const double tokens = sp_ ? n_ / l_.tp : n_, width = m_.h * kBf16;
    const bool to_experts = collective == std::string("dispatch");
    if (l_.dispatcher == Dispatcher::allgather) {
      const double all = tokens * width * shapes_.tp_ep.size;
      return to_experts ? gather(stage, shapes_.tp_ep, "tp_ep", phase, all, times)
                        : scatter(stage, shapes_.tp_ep, "tp_ep", phase, all, times);
    }
    if (l_.dispatcher == Dispatcher::alltoall) {
      on_groups(stage, shapes_.ep, [&](const Players& p) {
        p.exchange({"ep", collective, phase}, times * 2 * tokens * width);
      });
      const double rows = 2 * tokens * shapes_.tp_ep.size / m_.experts * (m_.experts / l_.ep) * width;
      return to_experts ? gather(stage, shapes_.etp, "etp", phase, rows, times)
                        : scatter(stage, shapes_.etp, "etp", phase, rows, times);
    }
    // HybridEP sends a token's probability of every expert along with it, and brings their gradients back.
    const bool forwards = phase != std::string("backward");
    const double probabilities = l_.dispatcher == Dispatcher::hybridep && to_experts == forwards ? m_.experts * kFp32 : 0;
    on_groups(stage, shapes_.tp_ep, [&](const Players& p) {
      p.dispatch_once({"tp_ep", collective, phase}, times * tokens, width + probabilities, m_.experts);
    });
  }
  void routing_map(int stage, const char* phase, double times) {
    const double tokens = sp_ ? n_ / l_.tp : n_;
    if (l_.dispatcher == Dispatcher::hybridep)
      gather(stage, shapes_.tp_ep, "tp_ep", phase, tokens * shapes_.tp_ep.size * m_.experts, times);
  }
  void expert_forward(int stage, const char* phase, double times) {
    routing_map(stage, phase, times);
    experts(stage, "dispatch", phase, times);
    experts(stage, "combine", phase, times);
  }

  void layer_forward(int stage, const char* phase, double times) {
    tp_forward(stage, phase, m_.experts ? 1 : 2, times);
    if (l_.cp > 1) context(stage, phase, false, times);
    if (m_.experts && shapes_.tp_ep.size > 1) expert_forward(stage, phase, times);
  }
  void play_layers(int stage) {
    layer_forward(stage, "forward", calls());
    const double blocks = m_.experts ? 1 : 2;
    column_backward(stage, stream_read(), blocks * calls());
    if (sp_) gather(stage, shapes_.tp, "tp", "backward", gradient_read(), blocks * calls());   // of the row linear's output gradient
    if (l_.cp > 1) context(stage, "backward", true, calls());
    if (m_.experts && shapes_.tp_ep.size > 1)
      for (const char* collective : {"dispatch", "combine"}) experts(stage, collective, "backward", calls());
    const Recompute& r = l_.recompute;
    if (r.granularity == RecomputeGranularity::full) {
      const double again = r.method == RecomputeMethod::block ? r.num_layers * l_.vpp : layers();
      layer_forward(stage, "recompute", again * grid_.microbatches);
    }
    if (r.modules.contains(RecomputeModule::moe) && m_.experts) expert_forward(stage, "recompute", calls());
    if (r.modules.contains(RecomputeModule::core_attn) && l_.cp > 1) context(stage, "recompute", false, calls());
  }

  void play_edges(int stage) {
    const double m = grid_.microbatches;
    if (stage == 0) {
      if (sp_) scatter(stage, shapes_.tp, "tp", "forward", stream(), m), gather(stage, shapes_.tp, "tp", "backward", stream(), m);
      else reduce(stage, shapes_.tp, "tp", "forward", stream(), m);
    }
    if (stage + 1 < l_.pp) return;
    if (sp_) gather(stage, shapes_.tp, "tp", "forward", stream(), m);
    column_backward(stage, stream(), m);   // the head stays in bf16
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
  struct Params { double dense, expert, repeated, linear_dense, linear_expert; };
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
    const GroupShape inner = inner_instance(shape, l_.optimizer_instances), outer = across_instances(shape, l_.optimizer_instances);
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

  Model m_;
  const Job& job_;
  const Layout& l_;
  GridSizes grid_;
  GroupShapes shapes_;
  Wire wire_;
  double n_ = 0;
  bool sp_ = false;
};

}  // namespace shardfit
