// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "block/blocks.hpp"
#include "estimate/block_time.hpp"
#include "estimate/memo.hpp"
#include "estimate/problem.hpp"
#include "memory/activations.hpp"
#include "shardfit/layout/rank_grid.hpp"

namespace shardfit::estimate {

/// What graphs decide of a part: its passes, and those reduced to what a stage's seconds are made of.
struct PassCosts {
  PassLoad forward, backward;
  BlockPasses time;
};

/// What recompute and offload decide of a part.
struct KeptCosts {
  memory::ActivationProfile plain;         ///< kept whole (selective recompute applied)
  memory::ActivationProfile checkpointed;  ///< under full recompute
  PassSum rerun;                           ///< what selective recompute runs again
};

/// One part of the model (a kind of decoder block, the embedding, the head, ...) under one layout.
struct Part {
  bool exists = false;  ///< the model has it
  // Of the layout at hand.
  const PassCosts* passes = nullptr;
  const KeptCosts* kept = nullptr;
  const RerunLoad* rerun = nullptr;  ///< `kept->rerun` under its graphs
  block::OpList ops;                 ///< at balanced routing: what memory reads
  block::OpList loaded;              ///< at the stated routing: what traffic reads
  Bytes least_saved;                 ///< kept by one micro-batch with every module recomputed
  Bytes forward_transient;           ///< whatever is recomputed
  memory::ParamCounts params;
  memory::WeightShapes shapes;
  TimedOps timed;             ///< at the stated routing
  PassSum forward, backward;  ///< of `timed`
};

/// Which fields of a layout the operation lists depend on: the rest never rebuilds them.
struct ShardKey {
  int tp = 0, cp = 0, ep = 0, etp = 0, micro_batch_size = 0, dispatcher_sms = 0;
  int sequence = 0;  ///< tokens of the rows that run: see workload::executed_sequence
  bool sequence_parallel = false, whole_graph = false, tp_comm_overlap = false;
  Dispatcher dispatcher = Dispatcher::alltoall;
  CpCommType cp_comm_type = CpCommType::p2p;
  friend bool operator==(const ShardKey&, const ShardKey&) = default;
};

/// Which fields the costs depend on beside the shard key, as numbers: recompute and offloaded modules; graphs; all of them.
/// None where a count of layers is out of all proportion.
using CostKey = std::optional<std::uint64_t>;
CostKey kept_key(const Layout& layout);
std::uint64_t graph_key(const CudaGraph& graph);
CostKey cost_key(const Layout& layout);

/// The tables of one shard key.
struct ShardTables {
  ShardTables();
  std::optional<ShardKey> shard_key;
  CostKey kept_key;  ///< of the layout at hand
  std::optional<CudaGraph> graph;
  block::Shapes shapes;
  comm::LayoutLinks links{};
  TimingRates rates;
  std::vector<Part> kinds;
  Part embedding, head, tied_head, mtp_first, mtp_more, vision_ends, vision_layers, vision_projector;
  Part vision;        ///< tower and projector as one: its costs alone
  Bytes tower_input;  ///< what a layer of the tower reads of the fullest micro-batch
  workload::VisionBatch vision_batch, fullest_vision_batch;
  // A row for each part, in the order of for_each; of tower and projector as one, last.
  Memo<std::vector<PassCosts>> passes;
  Memo<std::vector<KeptCosts>> kept;
  Memo<std::vector<RerunLoad>> reruns;
  int builds = 0;  ///< how often these tables were made anew

  /// Every part that the model has, in the order of a cost table.
  template <class F>
  void for_each(F f) {
    for (Part& part : kinds) f(part);
    for (Part* part : {&embedding, &head, &tied_head, &mtp_first, &mtp_more, &vision_ends, &vision_layers, &vision_projector})
      if (part->exists) f(*part);
  }
};

/// Which of the tower's layers run again in backward, as checkpointed_layers counts them: by the decoder's recompute, by
/// the module's own switch, and none where nothing in it trains. Not for jobs without a tower.
memory::CheckpointedLayers tower_checkpoints(const Job& job, const Recompute& recompute);

/// Tables of one thread for the layout at hand; rebuilt only where a key changes.
class Parts {
 public:
  explicit Parts(const Problem& problem);
  Parts(const Parts&) = delete;  // tables hold pointers into themselves
  Parts& operator=(const Parts&) = delete;

  /// Makes operations and parameters those of `layout`.
  void prepare_shapes(const Layout& layout, const GridSizes& grid);
  /// Then the costs. Call in this order.
  void prepare_costs(const Layout& layout);

  const Part& kind(int k) const { return now_->kinds[std::size_t(k)]; }
  const Part& embedding() const { return now_->embedding; }
  const Part& head() const { return now_->head; }            ///< with a weight of its own
  const Part& tied_head() const { return now_->tied_head; }  ///< reuses an embedding on the same stage
  const Part& mtp(bool first_depth) const { return first_depth ? now_->mtp_first : now_->mtp_more; }
  const Part& vision_ends() const { return now_->vision_ends; }
  const Part& vision_layers() const { return now_->vision_layers; }
  const Part& vision_projector() const { return now_->vision_projector; }
  /// Costs of tower and projector as one: profiles with what recompute leaves of them, passes (and what runs again) without
  /// their serial part, which is in `time` alone.
  const Part& vision() const { return now_->vision; }
  /// A number for recompute and graphs of the layout at hand, small and its own as long as `builds` stays; none if there are
  /// too many to remember.
  std::optional<std::size_t> cost_number() const { return now_->reruns.last(); }
  /// Every part that the model has.
  template <class F>
  void for_each(F f) const {
    now_->for_each([&f](const Part& part) { f(part); });
  }
  const block::Shapes& shapes() const { return now_->shapes; }
  /// Changes whenever operations and parameters may have; apart for graphs of the whole iteration.
  int builds() const { return now_->builds; }
  /// Of recompute and offloaded modules of the layout at hand.
  const CostKey& kept() const { return now_->kept_key; }
  bool whole_graph() const { return now_ == &whole_graph_; }
  const TimingRates& rates() const { return now_->rates; }
  const comm::LayoutLinks& links() const { return now_->links; }
  const comm::Network& network() const { return now_->rates.network; }
  /// Links of a group that depends on pp and dp as well.
  const topology::GroupLinks& links_of(GroupShape shape);
  /// Visual load of an average micro-batch on this rank's tower; memory is that of the fullest.
  const workload::VisionBatch& vision_batch() const { return now_->vision_batch; }
  const workload::VisionBatch& fullest_vision_batch() const { return now_->fullest_vision_batch; }
  /// The input of one of the tower's layers, of the fullest micro-batch on this rank.
  Bytes tower_input() const { return now_->tower_input; }

 private:
  void build(const Layout& layout, const ShardKey& key);
  void build_vision(const Layout& layout, const block::Shapes& loaded);
  void build_part(Part& part, const Layout& layout, block::OpList balanced, block::OpList loaded);
  void set_passes(const Layout& layout);
  void set_kept(const Layout& layout);
  void set_reruns(const Layout& layout);
  void pass_rows(const CudaGraph& graph, std::vector<PassCosts>& rows) const;
  void kept_rows(const Layout& layout, std::vector<KeptCosts>& rows) const;
  KeptCosts keep(const Part& part, const Layout& layout, std::optional<MemoryTerm> fold, Bytes input) const;
  void keep_vision(const Layout& layout, std::vector<KeptCosts>& rows) const;
  void add_vision_passes(std::vector<PassCosts>& rows) const;
  RerunLoad vision_rerun(const Layout& layout) const;

  const Problem& problem_;
  // A graph of the whole iteration changes operations, and a search turns it on and off: both tables are kept.
  ShardTables eager_, whole_graph_;
  ShardTables* now_ = &eager_;
  std::map<GroupShape, topology::GroupLinks> link_cache_;
};

}  // namespace shardfit::estimate
