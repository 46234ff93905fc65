// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "cli/goal_flags.hpp"
#include "cli/layout_flags.hpp"
#include "io/load_study.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::cli {

/// A study with the scenarios and estimators that it refers to.
class LoadedStudy {
 public:
  /// Applies the layout flags and the limits to every job; jobs of more GPUs than the limit are left out.
  /// Throws InputError if no job is left.
  LoadedStudy(const io::StudyFile& file, const LayoutChoice& layout, const GoalFlags& goals);
  const Study& study() const { return study_; }
  LoadedStudy(const LoadedStudy&) = delete;
  LoadedStudy& operator=(const LoadedStudy&) = delete;

 private:
  std::vector<Scenario> scenarios_;
  std::deque<Estimator> estimators_;
  Study study_;
};

}  // namespace shardfit::cli
