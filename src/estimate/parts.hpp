// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "block/blocks.hpp"
#include "estimate/block_time.hpp"
#include "estimate/problem.hpp"
#include "memory/activations.hpp"
#include "shardfit/layout/rank_grid.hpp"

namespace shardfit::estimate {

/// One part of the model (a kind of decoder block, the embedding, the head, ...) under one layout.
struct Part {
  block::OpList ops;                       ///< at balanced routing: what memory reads
  memory::ParamCounts params;
  memory::WeightShapes shapes;
  TimedOps timed;                          ///< at the stated routing
  memory::ActivationProfile plain;         ///< kept whole (selective recompute applied)
  memory::ActivationProfile checkpointed;  ///< under full recompute
  BlockTime time;
};

/// Which fields of a layout the operation lists depend on: the rest never rebuilds them.
struct ShardKey {
  int tp = 0, cp = 0, ep = 0, etp = 0, micro_batch_size = 0, dispatcher_sms = 0;
  bool sequence_parallel = false, whole_graph = false;
  Dispatcher dispatcher = Dispatcher::alltoall;
  CpCommType cp_comm_type = CpCommType::p2p;
  friend bool operator==(const ShardKey&, const ShardKey&) = default;
};

/// And which the profiles and pass times depend on beside the shard key.
struct CostKey {
  Recompute recompute;
  CudaGraph cuda_graph;
  Overlap overlap;
  EnumSet<OffloadModule> offloaded;
  friend bool operator==(const CostKey&, const CostKey&) = default;
};

/// Tables of one thread for the layout at hand; rebuilt only where a key changes.
class Parts {
 public:
  explicit Parts(const Problem& problem);

  /// Makes the tables those of `layout`.
  void prepare(const Layout& layout, const GridSizes& grid);

  const Part& kind(int k) const { return kinds_[std::size_t(k)]; }
  const Part& embedding() const { return embedding_; }
  const Part& head() const { return head_; }              ///< with a weight of its own
  const Part& tied_head() const { return tied_head_; }    ///< reuses an embedding on the same stage
  const Part& mtp(bool first_depth) const { return first_depth ? mtp_first_ : mtp_more_; }
  const Part& vision_encoder() const { return vision_encoder_; }
  const Part& vision_projector() const { return vision_projector_; }
  const memory::ActivationProfile& vision_profile(bool full_recompute) const {
    return full_recompute ? vision_checkpointed_ : vision_plain_;
  }
  /// Every part that the model has.
  template <class F>
  void for_each(F f) const {
    for (const Part& part : kinds_) f(part);
    for (const Part* part : {&embedding_, &head_, &tied_head_, &mtp_first_, &mtp_more_, &vision_encoder_, &vision_projector_})
      f(*part);
  }
  const block::Shapes& shapes() const { return shapes_; }
  const comm::LayoutLinks& links() const { return links_; }
  const comm::Network& network() const { return rates_.network; }
  /// Links of a group that depends on pp and dp as well.
  const topology::GroupLinks& links_of(GroupShape shape);
  /// Visual load of a micro-batch, and of the slowest of the ranks that wait for one another.
  const workload::VisionBatch& vision_batch() const { return vision_batch_; }

 private:
  void build(const Layout& layout);
  void cost(const Layout& layout);
  void build_part(Part& part, block::OpList balanced, block::OpList loaded);
  void cost_part(Part& part, const Layout& layout, std::optional<MemoryTerm> fold, Bytes input);
  void cost_vision(const Layout& layout);

  const Problem& problem_;
  std::optional<ShardKey> shard_key_;
  std::optional<CostKey> cost_key_;
  block::Shapes shapes_;
  comm::LayoutLinks links_{};
  TimingRates rates_;
  std::vector<Part> kinds_;
  Part embedding_, head_, tied_head_, mtp_first_, mtp_more_, vision_encoder_, vision_projector_;
  memory::ActivationProfile vision_plain_, vision_checkpointed_;
  workload::VisionBatch vision_batch_;
  std::map<GroupShape, topology::GroupLinks> link_cache_;
};

}  // namespace shardfit::estimate
