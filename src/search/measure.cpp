// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/axis_values.hpp"
#include "shardfit/base/error.hpp"
#include "workload/sample.hpp"

// Computes:   time, cost and energy of training on N useful tokens, from the time of one step.
// Formula:    steps = N / useful tokens of a step (workload/sample.hpp); time = steps * step time;
//             cost = GPUs * price an hour * time; energy = GPUs * W * time.
// Source:     the price is the user's; W the user's or the datasheet's board power.
// Valid when: the job runs without a break, and GPUs draw that power all the time.
// Ignores:    hosts, network and cooling, unless the user's W has them; restarts and checkpoints; a partly paid hour.
// Checked by: tests/search/goals_test.cpp.

namespace shardfit {
namespace {

[[noreturn]] void no_price(const Job& job) {
  const Figure& list = job.hardware.price.usd_per_gpu_hour;
  std::string hint = "--usd-per-gpu-hour, or goals.usd_per_gpu_hour in the scenario";
  if (list.value > 0) hint += fmt::format("; for comparison: {} ({}, {})", list.value, name_of(list.kind), list.source);
  throw InputError("", "cost", "no price of " + job.hardware.name, "US dollars a GPU and hour", hint);
}

[[noreturn]] void no_power(const Job& job) {
  throw InputError("", "energy", "no power of " + job.hardware.name, "W a GPU",
                   "--watts-per-gpu, or goals.watts_per_gpu in the scenario");
}

[[noreturn]] void no_base() {
  throw InputError("", "changes", "no base layout", "a layout to count changes from",
                   "--base ID, or goals.base in the scenario");
}

}  // namespace

std::optional<double> figure_of(const PerHardware& figures, const Job& job) {
  auto found = figures.find(job.hardware.name);
  if (found == figures.end()) found = figures.find("");
  if (found == figures.end()) return std::nullopt;
  return found->second;
}

Figure watts_of(const Job& job, const Goals& goals) {
  if (const auto stated = figure_of(goals.watts_per_gpu, job)) return {*stated, FigureKind::assumed, "stated by the user"};
  return job.hardware.gpu.power_w;
}

Measure::Measure(const Job& job, const Estimator& estimator, const Goals& goals, std::span<const Metric> needed)
    : estimator_(estimator), goals_(goals), gpus_(job.gpus) {
  useful_tokens_per_step_ = workload::useful_tokens_per_step(job);
  steps_ = goals.train_tokens.value_or(kUnitOfTokens) / useful_tokens_per_step_;
  const auto price = figure_of(goals.usd_per_gpu_hour, job);
  usd_per_s_ = price ? *price * gpus_ / 3600 : -1;
  const double watts = watts_of(job, goals).value;
  kilowatts_ = watts > 0 ? watts * gpus_ / 1000 : -1;
  const auto asked = [&](Metric m) { return std::find(needed.begin(), needed.end(), m) != needed.end(); };
  if (asked(Metric::cost) && usd_per_s_ < 0) no_price(job);
  if (asked(Metric::energy) && kilowatts_ < 0) no_power(job);
  if (asked(Metric::changes) && !goals.base) no_base();
}

Bytes Measure::host_memory(const Layout& layout, Estimator::Workspace& workspace) const {
  return estimator_.host_memory(layout, workspace);
}

double Measure::value(Metric metric, const Layout& layout, const Quick& quick, Estimator::Workspace& workspace) const {
  const double train_s = steps_ * quick.step_time_s;
  switch (metric) {
    case Metric::tokens_per_s_per_gpu: return quick.tokens_per_s_per_gpu;
    case Metric::useful_tokens_per_s: return useful_tokens_per_step_ / quick.step_time_s;
    case Metric::step_time: return quick.step_time_s;
    case Metric::train_time: return train_s;
    case Metric::cost: return usd_per_s_ < 0 ? -1 : usd_per_s_ * train_s;
    case Metric::energy: return kilowatts_ < 0 ? -1 : kilowatts_ * train_s / 3600;
    case Metric::peak_memory: return double(quick.peak.value);
    case Metric::host_memory: return double(host_memory(layout, workspace).value);
    case Metric::gpus: return gpus_;
    case Metric::changes: return goals_.base ? search::axes_changed(*goals_.base, layout) : -1;
    case Metric::count: break;
  }
  return -1;
}

}  // namespace shardfit
