// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shardfit/estimate/estimator.hpp"

namespace shardfit {

/// A layout of a space with its numbers.
struct Candidate {
  std::uint64_t index = 0;        ///< mixed-radix number in the space; ties are broken by it
  Quick quick;
  double p_oom = -1;              ///< chance of running out of memory; below 0: not computed (a sweep does so for the
                                  ///< layouts of `top` and `pareto` only)
};

/// Reasons that are no rule: more memory than there is; a layout that is another one under a second name.
inline constexpr RuleId kRefusedByMemory = -1, kRefusedAsAlias = -2;

/// Layouts refused for one reason: how many, and the first of them. A layout that breaks several rules counts for the one
/// that is decided by the outermost axes, of those for the first in the table.
struct Rejected {
  RuleId rule = kRefusedByMemory;
  std::uint64_t count = 0, example = 0;
  Violation violation;
};

struct SweepProgress {
  std::uint64_t done = 0, total = 0, valid = 0, fit = 0;
  double best_tokens_per_s_per_gpu = 0;
};

struct SweepOptions {
  int threads = 0;                ///< 0: all
  int top = 20;                   ///< layouts kept by throughput
  bool keep_all = false;          ///< keep every valid layout (for --csv)
  bool prune = true;              ///< false: every combination is looked at by itself; the result is the same
  std::function<void(const SweepProgress&)> progress;      ///< called from one thread at a time; may be empty
  std::function<bool()> interrupted;                       ///< polled; true ends the sweep early with what is known
};

struct SweepResult {
  std::uint64_t space = 0;        ///< combinations
  std::uint64_t evaluated = 0;    ///< decided, one by one or together
  std::uint64_t valid = 0, fit = 0;   ///< distinct layouts that the rules allow; of these, those that fit
  bool complete = true;
  std::vector<Candidate> top;     ///< by tokens/s/GPU, best first; only layouts that fit
  std::vector<Candidate> pareto;  ///< step time against peak memory (GPUs are fixed in one scenario), by step time
  std::vector<Candidate> all;     ///< keep_all: every valid layout, by index
  std::vector<Rejected> rejected; ///< by count, most first
  double seconds = 0;
};

/// The number of combinations of a space, and the layout of one of them.
std::uint64_t space_size(const SearchSpace& space);
Layout layout_at(const Scenario& scenario, std::uint64_t index);

/// Evaluates every combination asked for. The result depends neither on the number of threads nor on pruning, `seconds`
/// apart. Throws InputError if the space holds a size below 1.
SweepResult sweep(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options);

}  // namespace shardfit
