// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "estimate/data_parallel_time.hpp"
#include "estimate/parts.hpp"

namespace shardfit::estimate {

/// What all parts of a stage but vision add up to, one micro-batch.
struct StageSums {
  PassLoad forward, backward, rerun;
  double copy = 0;  ///< host copies of offloaded activations, one way, s
};

/// Tower and projector with their waits, beside the decoder, s.
struct VisionSeconds {
  double forward = 0, backward = 0;
};

/// The time that a stage takes for one micro-batch.
struct StageSeconds {
  double forward_s = 0, backward_s = 0;  ///< all of it, host included where it binds
  double host_extra = 0;                 ///< of that, what the host adds beyond the device
  double offload_exposed = 0;            ///< activation offload that does not fit behind compute
  VisionSeconds vision;
  double ep_hidden = 0;  ///< share of the hideable expert traffic that expert overlap hides
  double rerun_s = 0;    ///< of backward_s, what recompute runs again on the device
  double total() const { return forward_s + backward_s; }
};

struct SlowestStage {
  int stage = 0;
  StageSeconds seconds;
  double copy = 0;  ///< of its sums
};

/// The step of a layout up to what data parallelism and the optimizer add: its slowest stage, then its ledger.
struct Pace {
  bool has_slowest = false, has_ledger = false;
  SlowestStage slowest;
  TimeLedger ledger;
  std::size_t first_window = 0, windows = 0;     ///< in PaceTable::windows_of, of each distinct stage; made with the ledger
  double forward_round = 0, backward_round = 0;  ///< one micro-batch through all stages, s
};

/// What all paces of one table have in common.
struct PaceKey {
  int builds = 0, plans = 0, microbatches = 0, group = 0, offloaded_layers = 0;
  double image_wait = 0, transfer = 0;
  friend bool operator==(const PaceKey&, const PaceKey&) = default;
};

/// Paces by recompute, graphs and expert overlap. Sharding, instances and offload of the optimizer do not change them, so
/// a search meets each again for every choice of those.
class PaceTable {
 public:
  /// Forgets everything if the key is another one.
  void begin(const PaceKey& key) {
    if (key == key_) return;
    key_ = key;
    paces_.clear();
    sums_of.reset();
    shares.clear();
    windows_.clear();
    filled = nullptr;
  }
  /// `number`: Parts::cost_number. One without a number is not remembered. Good until the next call.
  Pace& at(std::optional<std::size_t> number, bool expert_overlap) {
    if (!number) {
      unremembered_ = {};
      unremembered_windows_.clear();
      if (filled == &unremembered_) filled = nullptr;
      return unremembered_;
    }
    const std::size_t place = 2 * *number + expert_overlap;
    if (place >= paces_.size()) {
      paces_.resize(place + 1);
      filled = nullptr;  // they have moved
    }
    return paces_[place];
  }

  /// Where the windows of a pace stand: those of remembered ones one after another.
  std::vector<StageWindow>& windows_of(const Pace& pace) { return &pace == &unremembered_ ? unremembered_windows_ : windows_; }

  // Of the layout last looked at. Expert overlap does not change its sums.
  std::optional<std::size_t> sums_of;     ///< cost number
  std::vector<StageSums> sums;            ///< of each distinct stage
  std::vector<double> shares;             ///< schedule::combined_1f1b_pairs of each stage; empty: not made
  std::vector<double> forward, backward;  ///< s a stage
  const Pace* filled = nullptr;           ///< whose seconds these are

 private:
  PaceKey key_;
  std::vector<Pace> paces_;
  std::vector<StageWindow> windows_, unremembered_windows_;
  Pace unremembered_;
};

}  // namespace shardfit::estimate
