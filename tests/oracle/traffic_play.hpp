// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/spec/scenario.hpp"
#include "traffic_wire.hpp"

// Collectives on every group of a stage, and the sizes of what they carry.

namespace shardfit {

/// Sizes of the two models played: Llama 3 8B (dense) and Mixtral 8x7B (8 experts, top 2).
struct Model {
  const char* name;
  double layers, h, heads, kv_heads, d, f, vocab;
  int experts;
};
inline constexpr Model kDense{"Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256, 0};
inline constexpr Model kMoe{"Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, 8};

class TrafficPlay {
 public:
  TrafficPlay(const Model& model, const Scenario& scenario)
      : m_(model),
        job_(scenario.job),
        l_(scenario.base),
        grid_(grid_sizes(l_, job_.gpus, job_.training.global_batch_size)),
        shapes_(group_shapes(l_, grid_)),
        wire_(job_.gpus) {
    n_ = double(job_.training.sequence_length) * l_.micro_batch_size / l_.cp;
    sp_ = l_.sequence_parallel;
  }
  const Wire& wire() const { return wire_; }
  std::vector<int> ranks_of(int stage) const {
    std::vector<int> ranks;
    for (int r = 0; r < job_.gpus; ++r)
      if (dense_coordinates(l_, grid_, r).pp == stage) ranks.push_back(r);
    return ranks;
  }

 protected:
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
      case Precision::mxfp8: return 1 + 1.0 / 32;           // a byte of scale for 32
      case Precision::fp8_blockwise: return 1 + 4.0 / 128;  // fp32 for 128
      case Precision::nvfp4: return 0.5 + 1.0 / 16;         // a byte for 16
      default: return kBf16;
    }
  }
  bool by_block() const {
    const Precision p = job_.training.precision;
    return p == Precision::mxfp8 || p == Precision::fp8_blockwise || p == Precision::nvfp4;
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
