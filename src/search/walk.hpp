// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search/aliases.hpp"
#include "search/findings.hpp"
#include "search/inner_rules.hpp"
#include "shardfit/search/measure.hpp"

namespace shardfit::search {

/// The axes that decide a block's shapes: a unit of work is everything below one choice of them, so that one thread has
/// their tables.
inline constexpr LayoutAxis kLastUnitAxis = LayoutAxis::cp_comm_type;

/// What all threads of one job's sweep read.
struct Search {
  Search(const Study& study, std::size_t job, const SweepOptions& options);
  const Scenario& scenario;
  const Estimator& estimator;
  const SweepOptions& options;
  const Limits& limits;
  const std::uint64_t offset;  ///< number of the job's first combination in the study
  const Digits radix;
  const Strides below;
  const layout::StagedRules rules;
  const InnerRules inner_rules;
  const Aliases aliases;
  const Metric objective;
  const std::vector<Metric> front_metrics;
  const Measure measure;
  const Bytes budget;        ///< usable memory less the headroom that the limits ask for
  const Bytes memory_limit;  ///< layouts that need more than this are of no interest to any result
  std::uint64_t unit_size() const { return below[kLastUnitAxis]; }
  std::uint64_t units() const { return below[LayoutAxis(0)] * radix[LayoutAxis(0)] / unit_size(); }
  Capacity capacity() const { return capacity_of(options, front_metrics); }
};

/// The layout that is least over the budget of its job: peak over budget, and its number in the study.
struct Nearest {
  double share = 0;
  std::uint64_t index = 0;
  bool before(const Nearest& o) const { return share != o.share ? share < o.share : index < o.index; }
};

/// Whether a layout needs more host memory than the limits allow.
bool breaks_host_limit(const Search& search, const Layout& layout, Estimator::Workspace& workspace);

/// Files a layout that the rules allow: `quick` is empty for one that needs more than `memory_limit`. A `bound`
/// (Estimator::quick_bound) is made complete where the layout may be among the best.
void collect(const Search& search, std::uint64_t index, const Layout& layout, std::optional<Quick> quick, bool bound,
             Estimator::Workspace& workspace, Findings& findings);

/// Looks at units of a space on one thread. Pruned, an axis after the other is set, and what breaks a rule takes everything
/// below along; brute force asks the same of every single combination. Both find the same.
class Walker {
 public:
  enum class Task { evaluate, count, find_nearest };
  explicit Walker(const Search& search, Task task = Task::evaluate);
  /// Indices [unit * unit_size, (unit + 1) * unit_size) of the job.
  void walk(std::uint64_t unit);
  Findings findings;
  /// Of all layouts so far (Task::find_nearest).
  const std::optional<Nearest>& nearest() const { return nearest_; }

 private:
  void descend(std::size_t level, std::uint64_t first);
  void walk_every_index(std::uint64_t first, std::uint64_t end);
  bool refused(LayoutAxis axis, std::uint64_t first, std::uint64_t count);
  void set(LayoutAxis axis, std::uint32_t digit);
  void evaluate(std::uint64_t index);
  void compare_to_nearest(std::uint64_t index);

  const Search& search_;
  const Task task_;
  std::optional<Nearest> nearest_;
  Digits digits_{};
  Layout layout_;
  layout::StagedRules::Cursor cursor_;
  Estimator::Workspace workspace_;
};

}  // namespace shardfit::search
