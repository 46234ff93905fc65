// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "layout/rules/staged.hpp"
#include "search/space.hpp"

namespace shardfit::search {

/// Layouts that differ in name only. Of those that are the same to memory, traffic and time the first of the space is a
/// layout; the others are folded onto it. Folded are:
/// - cp_comm_type with cp 1; optimizer_instances where nothing is sharded;
/// - a split that puts the same layers on the same chunks as an earlier one that the rules allow;
/// - block recompute of more layers than a chunk has, where fewer would do;
/// - recompute modules and graph scopes that no operation of the model knows, where a set without them is in the space.
/// A rule that allows the folded layout allows the one it is folded onto: sets shrink, and what rules ask of recompute
/// and graphs only forbids. Read only after construction.
class Aliases {
 public:
  Aliases(const Scenario& scenario, const Estimator& estimator, const layout::StagedRules& rules);

  /// Whether the layouts below `axis` are folded: `layout` and `digits` are set up to it.
  bool folds(LayoutAxis axis, const Digits& digits, const Layout& layout) const;

 private:
  void fold_splits(const Scenario& scenario, const layout::StagedRules& rules);
  void fold_recompute(const SearchSpace& space, const Distinctions& told_apart);
  void fold_graphs(const SearchSpace& space, const Distinctions& told_apart);
  bool folds_block(const Recompute& recompute, const Digits& digits) const;
  std::size_t plan_index(const Digits& d) const {
    return (std::size_t(d[LayoutAxis::pp]) * vpps_ + d[LayoutAxis::vpp]) * splits_ + d[LayoutAxis::split];
  }

  std::size_t vpps_ = 1, splits_ = 1;
  std::vector<bool> split_folds_;                    ///< by plan_index
  std::vector<int> largest_chunk_;                   ///< layers, by plan_index; 0: no plan
  std::vector<int> block_layers_;                    ///< num_layers of block recompute in the space, ascending
  std::vector<bool> recompute_folds_, graph_folds_;  ///< by digit
};

}  // namespace shardfit::search
