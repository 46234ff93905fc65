// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardfit/base/names.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// What layouts are ranked and compared by. Tokens are those of full rows, useful tokens those that are no padding.
/// train_time, cost and energy are those of training on `Goals::train_tokens` useful tokens.
enum class Metric {
  tokens_per_s_per_gpu,
  useful_tokens_per_s,
  step_time,
  train_time,
  cost,
  energy,
  peak_memory,
  host_memory,
  gpus,
  changes,
  count
};
template <>
inline constexpr NameList<Metric> kNames<Metric> = {
    "tokens_per_s_per_gpu", "useful_tokens_per_s", "step_time", "train_time", "cost", "energy",
    "peak_memory",          "host_memory",         "gpus",      "changes"};

/// Whether more of it is better; of all others less is.
constexpr bool more_is_better(Metric m) { return m == Metric::tokens_per_s_per_gpu || m == Metric::useful_tokens_per_s; }

/// Whether it follows from the step time alone in one job: the error band of the step time is the metric's.
constexpr bool follows_step_time(Metric m) { return m <= Metric::energy; }

/// What a layout may take at most. 0 sets no limit.
struct Limits {
  double memory_headroom = 0;  ///< least part of usable device memory that stays free, 0 to 1
  double host_memory_gib = 0;  ///< a GPU
  int gpus = 0;
  int tp = 0, cp = 0, pp = 0, vpp = 0, ep = 0, etp = 0, micro_batch_size = 0;
};

/// A limit on the size of an axis: its key in files, its words in print, where it is kept, and the values that it cuts.
struct SizeLimit {
  const char *key, *words;
  int Limits::*most;
  std::vector<int> SearchSpace::*values;
};
inline constexpr SizeLimit kSizeLimits[] = {
    {"tp", "tp", &Limits::tp, &SearchSpace::tp},
    {"cp", "cp", &Limits::cp, &SearchSpace::cp},
    {"pp", "pp", &Limits::pp, &SearchSpace::pp},
    {"vpp", "vpp", &Limits::vpp, &SearchSpace::vpp},
    {"ep", "ep", &Limits::ep, &SearchSpace::ep},
    {"etp", "etp", &Limits::etp, &SearchSpace::etp},
    {"micro_batch_size", "micro-batch size", &Limits::micro_batch_size, &SearchSpace::micro_batch_size},
};

/// A figure of one kind of GPU, or of all of them (key "").
using PerHardware = std::map<std::string, double>;

/// Training on this many tokens is what time, cost and energy are told for unless `train_tokens` says otherwise.
inline constexpr double kUnitOfTokens = 1e9;

/// Most dimensions of a Pareto front.
inline constexpr std::size_t kMostMetrics = 4;

/// What is expected of a front's metrics where a list of them is none; nothing for a list that will do.
const char* fault_of_front(const std::vector<Metric>& metrics);

/// What a sweep looks for.
struct Goals {
  Metric objective = Metric::tokens_per_s_per_gpu;
  std::vector<Metric> pareto;  ///< two to four; empty: see `front_metrics`
  std::optional<double> train_tokens;
  PerHardware usd_per_gpu_hour;  ///< stated by the user: no price is taken from anywhere else
  PerHardware watts_per_gpu;     ///< empty: the board power of the GPU's datasheet
  std::optional<Layout> base;    ///< `changes` counts the axes on which a layout differs from it
  Limits limits;
};

}  // namespace shardfit
