// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "estimate/problem.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::estimate {

/// What a plan puts on one stage, all its chunks together.
struct StageWork {
  std::span<const int> layers;  ///< of each kind
  int embeddings = 0;           ///< chunks that embed the decoder's tokens
  int mtp_layers = 0, heads = 0;
  bool vision = false;   ///< its first chunk has the tower
  bool repeats = false;  ///< runs what its predecessor runs; see same_work_as_previous
};

/// The stages of one plan: made once a plan, read for every layout that has it.
class StageWorks {
 public:
  /// Makes plan and stages those of `layout`; false if its layers cannot be split that way. Nothing is done twice in a row
  /// for the same pp, vpp and split.
  bool prepare(const Problem& problem, const Layout& layout, StagePlan& plan);
  /// Stages that do not repeat their predecessor, in their order.
  std::span<const int> distinct() const { return distinct_; }
  /// Changes with every plan that is made.
  int plans() const { return plans_; }
  const StageWork& at(int stage) const { return stages_[std::size_t(stage)]; }

 private:
  void count(const Problem& problem, const StagePlan& plan);

  int pp_ = 0, vpp_ = 0;  ///< of the plan at hand; 0: none
  PipelineSplit split_;
  bool planned_ = false;
  int plans_ = 0;
  std::vector<int> distinct_;
  std::vector<StageWork> stages_;
  std::vector<int> layers_;  ///< [stage][kind]
};

/// Whether a stage runs what its predecessor runs: as many layers of each kind in each chunk, and nothing but layers.
bool same_work_as_previous(const Problem& problem, const StagePlan& plan, int stage);

}  // namespace shardfit::estimate
