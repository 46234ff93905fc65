// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traffic_play.hpp"

// What the layers of a stage send: tensor, context and expert parallelism, forward, backward and recompute.

namespace shardfit {

class LayerTraffic : public TrafficPlay {
 public:
  using TrafficPlay::TrafficPlay;

 protected:
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
      if (backward && narrow()) p.exchange({group, "all_to_all", phase}, times * kv * p.size());  // a byte for every member
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
    if (sp_)
      gather(stage, shapes_.tp, "tp", "backward", gradient_read(), blocks * calls());  // of the row linear's output gradient
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
};

}  // namespace shardfit
