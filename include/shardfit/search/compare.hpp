// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "shardfit/search/advice.hpp"
#include "shardfit/search/sensitivity.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit {

/// Two ways to begin: parameters sharded over all data-parallel ranks (Megatron-FSDP, HSDP, torch FSDP2; tensor, context
/// and pipeline parallelism 1, experts over their own grid), or tensor, context, pipeline and expert parallelism with at
/// most the optimizer and the gradients sharded.
enum class Family { fsdp, three_d, count };
template <>
inline constexpr NameList<Family> kNames<Family> = {"fsdp", "3d"};

/// An axis that the best layout has away from where a run starts (sizes 1, no recompute, no graphs, the stack's
/// dispatcher), and what going back on it alone would cost.
struct TunedKnob {
  LayoutAxis axis = LayoutAxis::tp;
  AxisStep back;
};

/// The same layout on another job.
enum class JobChangeKind { frozen_vision, no_images, no_images_retuned, twice_the_images, count };
template <>
inline constexpr NameList<JobChangeKind> kNames<JobChangeKind> = {"frozen_vision", "no_images", "no_images_retuned",
                                                                  "twice_the_images"};

struct JobChange {
  JobChangeKind kind = JobChangeKind::frozen_vision;
  Layout layout;  ///< retuned: another recompute than the best layout's
  Quick quick;
  double gain = 0;  ///< tokens/s over those of the unchanged job, less 1
};

struct FamilyResult {
  Family family = Family::fsdp;
  std::uint64_t valid = 0, fit = 0;  ///< layouts that the rules allow; of these, those that fit
  std::optional<Estimate> bring_up;  ///< fastest with micro-batch 1, full recompute, nothing else turned on
  std::optional<Estimate> best;      ///< fastest whose chance of running out of memory is small enough
  std::vector<TunedKnob> tuned;      ///< of `best`: only knobs without which it loses more than 1 %, or dies
  std::vector<AxisStep> steps;       ///< of `best`: one step along each open axis
  std::vector<JobChange> changes;    ///< of `best`; none for a job without a tower
  std::vector<AdvicePair> advice;    ///< around `best`
};

enum class StartReason { only_one_fits, fewer_knobs, steadier, fewer_layouts, count };

struct Comparison {
  EnumArray<Family, FamilyResult> families;
  std::optional<Family> start, ceiling;  ///< where to begin; which is faster at its best. None: nothing fits
  StartReason reason = StartReason::only_one_fits;
  bool complete = true;
};

struct CompareOptions {
  int threads = 0;         ///< 0: all
  Limits limits;           ///< what the layouts of both families may take at most
  double max_p_oom = 0.1;  ///< of the best layouts; where none is below, the least risky of the front
  std::function<void(const SweepProgress&)> progress;
  std::function<bool()> interrupted;
};

/// The scenario with its search restricted to one family. Axes that the family holds fixed lose their other values;
/// sharding kinds of the other family go, and where none is left the framework's own is put in.
Scenario restricted(const Scenario& scenario, Family family);

/// Two sweeps and what stands around their best layouts. Which family to start with: the only one that fits; else the one
/// with fewer knobs that had to be tuned; else the one that loses clearly less when micro-batch size or recompute is a step
/// off; else the one with fewer layouts to choose among.
Comparison compare(const Scenario& scenario, const Estimator& estimator, const CompareOptions& options);

/// The largest loss of one step of micro-batch size or recompute, of those that fit.
double worst_step(const FamilyResult& family);
/// Steps of micro-batch size or recompute that run out of memory.
int dying_steps(const FamilyResult& family);

}  // namespace shardfit
