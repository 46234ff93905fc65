// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shardfit/search/sensitivity.hpp"
#include "shardfit/search/study.hpp"

namespace shardfit {

/// A layout of a space with its numbers.
struct Candidate {
  std::uint64_t index = 0;  ///< number in the study (see Study); ties are broken by it
  Quick quick;
};

/// What a candidate is worth a second look for: only of the layouts that a reader will see.
struct Judged : Candidate {
  double p_oom = 0;                          ///< chance of running out of memory
  MemoryTerm binding = MemoryTerm::weights;  ///< the largest term of the fullest rank at its worst moment
  double time_band = 0;                      ///< relative error band of the step time, one sigma
  std::string_view band_reason;
};

/// Reasons that are no rule: more memory than there is; a layout that is another one under a second name; a limit of the
/// goals on memory.
inline constexpr RuleId kRefusedByMemory = -1, kRefusedAsAlias = -2, kRefusedByLimit = -3;

/// Layouts refused for one reason: how many, and the first of them. A layout that breaks several rules counts for the one
/// that is decided by the outermost axes, of those for the first in the table.
struct Rejected {
  RuleId rule = kRefusedByMemory;
  std::uint64_t count = 0, example = 0;
  Violation violation;
};

/// What a pruned sweep did not have to look at, by why. What is known of the best layouts when another one's turn comes
/// depends on the threads, and so does `by_time`; what the sweep finds does not.
struct Pruned {
  std::uint64_t by_rules = 0;      ///< combinations refused together with others
  std::uint64_t by_state = 0;      ///< allowed layouts whose state alone is too much: no activations were looked at
  std::uint64_t by_recompute = 0;  ///< allowed layouts that need too much however much selective recompute saves: likewise
  std::uint64_t by_graphs = 0;     ///< allowed layouts that need too much with fewer graphs already: no look at memory
  std::uint64_t by_time = 0;       ///< layouts that could not be among the best however well they pack: time not worked out
  Pruned& operator+=(const Pruned& o) {
    by_rules += o.by_rules, by_state += o.by_state, by_recompute += o.by_recompute, by_graphs += o.by_graphs,
        by_time += o.by_time;
    return *this;
  }
};

struct SweepProgress {
  std::uint64_t done = 0, total = 0, valid = 0, fit = 0;
  double best_tokens_per_s_per_gpu = 0;
  std::uint64_t expected_valid = 0;              ///< allowed layouts there will be; 0: not known
  std::uint64_t resumed = 0, resumed_valid = 0;  ///< done and valid before this run
};

/// Every `of`-th unit of work from number `index` on: what one of several machines does.
struct Shard {
  std::uint32_t index = 0, of = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

struct PartialSweep;

struct SweepOptions {
  int threads = 0;        ///< 0: all
  int top = 20;           ///< layouts kept by the objective
  int ties = 2000;        ///< most layouts that near-ties are counted among
  int winners = 1;        ///< layouts of `top` whose neighbours are looked at
  bool keep_all = false;  ///< keep every valid layout
  /// Instead of keeping them, says every valid layout: `row_text` makes text of some of them, on any thread; `rows` is
  /// given the texts in the order of the layouts' numbers, one call at a time. Both or neither.
  std::function<std::string(std::span<const Candidate>)> row_text;
  std::function<void(const std::string&)> rows;
  bool prune = true;  ///< false: every combination is looked at by itself; the result is the same
  Shard shard;
  std::uint64_t expected_valid = 0;                     ///< for progress, if somebody has counted
  std::function<void(const SweepProgress&)> progress;   ///< called from one thread at a time; may be empty
  std::function<bool()> interrupted;                    ///< polled; true ends the sweep early with what is known
  std::function<void(const PartialSweep&)> checkpoint;  ///< told what is known every `checkpoint_s`; may be empty
  double checkpoint_s = std::numeric_limits<double>::infinity();
  /// Whether somebody wants the numbers of every valid layout, of those too that do not fit.
  bool every_layout() const { return keep_all || row_text; }
};

/// The best layout by the objective among those that would run with `more` as much memory again (0.05: 5 % more).
struct WithMoreMemory {
  double more = 0;
  std::optional<Candidate> best;  ///< none if no layout that is better than the best that fits becomes feasible
  double gain = 0;                ///< of the objective against the best that fits, relative
};

/// Layouts whose objective is within the error band of the best: the model cannot tell them apart.
struct NearTies {
  double band = 0;  ///< relative, of the best layout's step time
  std::string_view reason;
  std::uint64_t count = 0;  ///< the best included
  bool at_least = false;    ///< as many as were kept: there may be more
  struct Value {
    Layout layout;  ///< one that has it
    std::uint64_t count = 0;
  };
  /// The values met on each axis that the search leaves open, in the order of the best first; one value: all have it.
  struct Axis {
    LayoutAxis axis;
    std::vector<Value> values;
  };
  std::vector<Axis> axes;
};

struct SweepResult {
  std::uint64_t space = 0;           ///< combinations
  std::uint64_t evaluated = 0;       ///< decided, one by one or together
  std::uint64_t valid = 0, fit = 0;  ///< distinct layouts that the rules allow; of these, those that fit and keep the limits
  bool complete = true;
  std::vector<Metric> front_metrics;
  std::vector<Judged> top;                   ///< by the objective, best first; only layouts that fit
  std::vector<Judged> pareto;                ///< layouts that no other beats in all of front_metrics, by the first of them
  std::vector<Candidate> all;                ///< keep_all: every valid layout, by index
  std::vector<Rejected> rejected;            ///< by count, most first
  Pruned pruned;                             ///< of this run
  std::vector<std::vector<AxisStep>> steps;  ///< of the first `winners` of top
  std::vector<WithMoreMemory> with_more_memory;
  NearTies ties;
  std::optional<Candidate> nearest;  ///< where nothing fits: see nearest_to_fitting
  double seconds = 0;
};

/// The number of combinations of a space, and the layout of one of them.
std::uint64_t space_size(const SearchSpace& space);
Layout layout_at(const Scenario& scenario, std::uint64_t index);

/// Evaluates every combination asked for. The result depends neither on the number of threads nor on pruning, `seconds`
/// apart. Throws InputError if the space holds a size below 1, or the goals ask for what they give no figure for.
SweepResult sweep(const Study& study, const SweepOptions& options);
/// The same for one job and plain goals.
SweepResult sweep(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options);

/// The scenario without the values that are above the limits.
Scenario limited(Scenario scenario, const Limits& limits);

}  // namespace shardfit
