// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shardfit/estimate/estimate.hpp"
#include "shardfit/estimate/peak_risk.hpp"

namespace shardfit {

namespace estimate {
struct Evaluation;
}

/// Which recompute modules and graph scopes a model's operations tell apart: modules that always act together, or that no
/// operation knows, and scopes without an operation change nothing.
struct Distinctions {
  std::vector<EnumSet<RecomputeModule>> recompute;  ///< each set once: a tensor or operation that any of its modules touches
  EnumSet<GraphScope> scopes;
};

/// How often quick_bound could say no at once.
struct Shortcuts {
  std::uint64_t by_state = 0;      ///< what does not depend on recompute, graphs and micro-batches is too much already
  std::uint64_t by_recompute = 0;  ///< the same layout needs too much even if every module recomputed what it can
  std::uint64_t by_graphs = 0;     ///< the same layout with fewer graphs needs too much
};

/// Evaluates layouts of one job. Immutable after construction; threads share it, each with a Workspace of its own.
class Estimator {
 public:
  explicit Estimator(Job job);
  ~Estimator();
  Estimator(Estimator&&) noexcept;

  const Job& job() const;

  /// Everything about a layout that passes the rules. `Estimate` and `Quick` come from the same formulas.
  Estimate evaluate(const Layout& layout) const;

  /// Reused buffers of one thread: no allocation in `quick` once they have grown.
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(Workspace&&) noexcept;
    struct Data;
    /// Layouts that were found to need too much without a look at their layers.
    Shortcuts shortcuts() const;
    std::unique_ptr<Data> data;
  };
  Quick quick(const Layout& layout, Workspace& workspace) const;
  /// The first half of `quick` for a layout that needs at most `limit`, whether it fits or not; nothing, and sooner, for one
  /// that needs more. Memory is exact; time, and what follows from it, is no more than a bound: the step takes longer than
  /// `step_time_s`, tokens come more slowly. `bottleneck` says nothing yet.
  std::optional<Quick> quick_bound(Bytes limit, const Layout& layout, Workspace& workspace) const;
  /// The second half: makes what quick_bound said of the same layout, just before, complete.
  void complete(const Layout& layout, Workspace& workspace, Quick& bound) const;
  /// Risk and largest term of the peak that `quick` found for this layout; one ledger, no allocation.
  PeakRisk peak_risk(const Layout& layout, const Quick& quick, Workspace& workspace) const;

  /// Error band of the step time, as `Estimate::time_band`.
  TimeBand time_band(const Layout& layout, Workspace& workspace) const;

  /// Device memory that a layout may use.
  Bytes usable_memory() const;
  /// Host bytes a GPU of the fullest rank, as `Estimate::host_memory`; looks at stages only where something is offloaded.
  Bytes host_memory(const Layout& layout, Workspace& workspace) const;

  /// Adds what the operations of a layout's blocks tell apart; the layout's pp, split and sharding play no part.
  void add_distinctions(const Layout& layout, Distinctions& found) const;

 private:
  estimate::Evaluation& evaluation(Workspace& workspace) const;
  GridSizes grid_of(const Layout& layout) const;

  struct Problem;
  std::unique_ptr<const Problem> problem_;
};

/// "tp2-cp1-pp4-vpp2-ep8-etp1-mbs1-..." and back. The id names every axis of the layout that is not at its default.
std::string layout_id(const Layout& layout);
/// Throws InputError (pointer "layout id") on text that is none.
Layout parse_layout_id(const std::string& id);

}  // namespace shardfit
