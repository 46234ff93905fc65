// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "shardfit/estimate/estimate.hpp"

namespace shardfit {

/// Which recompute modules and graph scopes a model's operations tell apart: modules that always act together, or that no
/// operation knows, and scopes without an operation change nothing.
struct Distinctions {
  std::vector<EnumSet<RecomputeModule>> recompute;   ///< each set once: a tensor or operation that any of its modules touches
  EnumSet<GraphScope> scopes;
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
    std::unique_ptr<Data> data;
  };
  Quick quick(const Layout& layout, Workspace& workspace) const;
  /// The same for a layout that fits; nothing, and sooner, for one that does not.
  std::optional<Quick> quick_if_fits(const Layout& layout, Workspace& workspace) const;
  /// The same for a layout that needs at most `limit`, whether it fits or not.
  std::optional<Quick> quick_if_within(Bytes limit, const Layout& layout, Workspace& workspace) const;

  /// Device memory that a layout may use.
  Bytes usable_memory() const;
  /// Host bytes a GPU of the fullest rank, as `Estimate::host_memory`; looks at stages only where something is offloaded.
  Bytes host_memory(const Layout& layout, Workspace& workspace) const;

  /// Adds what the operations of a layout's blocks tell apart; the layout's pp, split and sharding play no part.
  void add_distinctions(const Layout& layout, Distinctions& found) const;

 private:
  struct Problem;
  std::unique_ptr<const Problem> problem_;
};

/// "tp2-cp1-pp4-vpp2-ep8-etp1-mbs1-..." and back. The id names every axis of the layout that is not at its default.
std::string layout_id(const Layout& layout);
/// Throws InputError (pointer "layout id") on text that is none.
Layout parse_layout_id(const std::string& id);

}  // namespace shardfit
