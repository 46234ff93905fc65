// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "shardfit/search/sweep.hpp"

namespace shardfit {

/// A candidate with what it is ordered by.
struct Ranked {
  double score = 0;  ///< of the objective, less is better
  Candidate candidate;
};

/// A candidate with its place among the metrics of the front, less is better in each.
struct FrontPoint {
  std::array<double, kMostMetrics> scores{};
  Candidate candidate;
};

/// What is known of a part of a study: a sweep that was stopped, or one shard of many. Parts of the same study merge, in
/// any order, into what one sweep over all of it finds, to the last bit.
struct PartialSweep {
  Shard shard;
  std::uint64_t done = 0, units = 0;  ///< units of work of this shard: the first `done` are finished
  std::uint64_t evaluated = 0, valid = 0, fit = 0;
  std::vector<Ranked> best;
  std::vector<FrontPoint> front;
  std::array<std::optional<Ranked>, 3> with_more_memory;  ///< by kMoreMemory
  std::vector<Rejected> rejected;
  Pruned pruned;               ///< of this run: no file keeps it
  std::vector<Candidate> all;  ///< keep_all
  bool complete() const { return done == units; }
};

/// How much more memory a sweep keeps the best infeasible layout for.
inline constexpr std::array<double, 3> kMoreMemory = {0.01, 0.05, 0.10};

/// Walks what `start` has not walked yet; an interrupt ends it early.
PartialSweep search_part(const Study& study, const SweepOptions& options, PartialSweep start = {});

/// `start` as a part of the study that nobody has worked on any further.
PartialSweep search_nothing(const Study& study, const SweepOptions& options, PartialSweep start = {});

/// Merges parts of one study; the sum has units of all. Throws InputError if two parts are the same shard, if they are
/// shards of different numbers, or if one is missing or (unless `whole` is false) unfinished.
PartialSweep merged(std::vector<PartialSweep> parts, const Study& study, const SweepOptions& options, bool whole = true);

/// What a part says, with neighbours and near-ties of the layouts on top.
SweepResult result_of(const Study& study, const SweepOptions& options, PartialSweep&& part);

/// Where nothing fits: the layout that is least over what it may use, relative to that. A walk of its own, which passes over
/// what needs more than the nearest so far. None if no layout is allowed or keeps the limit on host memory, or if interrupted.
std::optional<Candidate> nearest_to_fitting(const Study& study, const SweepOptions& options);

/// Allowed layouts of a study (of a shard of it), counted by the rules alone: a small part of a sweep's work. None if
/// interrupted.
std::optional<std::uint64_t> count_valid(const Study& study, const SweepOptions& options);

}  // namespace shardfit
