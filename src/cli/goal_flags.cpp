// SPDX-License-Identifier: Apache-2.0
#include "cli/goal_flags.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "io/words.hpp"
#include "shardfit/estimate/estimator.hpp"

namespace shardfit::cli {
namespace {

double number_of(const char* flag, const std::string& text) {
  double x = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc{} || stop != end || !(x >= 0 && x < 1e300))
    throw InputError("", flag, "'" + text + "'", "a number, or HARDWARE=number");
  return x;
}

/// "4.5" or "gb200-nvl72=4.5", "b200-hgx=4".
PerHardware per_hardware(const char* flag, const std::vector<std::string>& words) {
  PerHardware figures;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    if (figures.contains(name))
      throw InputError("", flag, "'" + word + "'", "one figure for each hardware", "another stands before it");
    figures[name] = number_of(flag, equals == std::string::npos ? word : word.substr(equals + 1));
  }
  return figures;
}

std::vector<Metric> metrics_of(const std::vector<std::string>& words) {
  std::vector<Metric> metrics;
  for (const std::string& word : words) {
    if (word.ends_with(".csv"))
      throw InputError("", "--pareto", "'" + word + "'", "metrics", "--pareto-csv FILE writes the front");
    metrics.push_back(io::word_of<Metric>("--pareto", word));
  }
  if (const char* expected = fault_of_front(metrics))
    throw InputError("", "--pareto", fmt::format("'{}'", fmt::join(words, ",")), expected);
  return metrics;
}

}  // namespace

void add_goal_flags(CLI::App& command, GoalFlags& f) {
  const auto add = [&](const char* flag, auto& value, const char* type, const char* help) {
    return command.add_option(flag, value, help)->type_name(type)->group("Goals");
  };
  add("--objective", f.objective, "METRIC",
      "Rank by: tokens_per_s_per_gpu, useful_tokens_per_s, step_time, train_time, cost, energy, ...");
  add("--pareto", f.pareto, "METRIC,...",
      "Two to four metrics of the Pareto front; also peak_memory, host_memory, gpus, changes")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--train-tokens", f.train_tokens, "N", "Useful tokens to train on, for train_time, cost and energy (default: 1e9)")
      ->check(CLI::Range(1.0, 1e18));
  add("--usd-per-gpu-hour", f.usd_per_gpu_hour, "[HW=]USD",
      "Price of a GPU-hour, for cost; one a hardware name if there are several")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--watts-per-gpu", f.watts_per_gpu, "[HW=]W", "Power a GPU, for energy (default: board power of the datasheet)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--base", f.base, "ID", "Layout that the metric `changes` counts from");
  add("--min-memory-headroom", f.min_memory_headroom_pct, "PCT", "Least part of usable device memory that stays free")
      ->check(CLI::Range(0.0, 99.0));
  add("--max-host-gib", f.max_host_gib, "GIB", "Most host memory a GPU")->check(CLI::Range(0.0, 1e9));
  const auto most = [&](const std::string& flag, int& value, const std::string& help) {
    add(flag.c_str(), value, "N", help.c_str())->check(CLI::Range(1, 1 << 30));
  };
  most("--max-gpus", f.most.gpus, "Most GPUs");
  for (const SizeLimit& limit : kSizeLimits) {
    std::string flag = std::string("--max-") + limit.key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    most(flag, f.most.*limit.most, std::string("Largest ") + limit.words);
  }
}

Goals goals_with(Goals goals, const GoalFlags& f) {
  if (!f.objective.empty()) goals.objective = io::word_of<Metric>("--objective", f.objective);
  if (!f.pareto.empty()) goals.pareto = metrics_of(f.pareto);
  if (f.train_tokens > 0) goals.train_tokens = f.train_tokens;
  if (!f.usd_per_gpu_hour.empty()) goals.usd_per_gpu_hour = per_hardware("--usd-per-gpu-hour", f.usd_per_gpu_hour);
  if (!f.watts_per_gpu.empty()) goals.watts_per_gpu = per_hardware("--watts-per-gpu", f.watts_per_gpu);
  if (!f.base.empty()) goals.base = parse_layout_id(f.base);
  Limits& l = goals.limits;
  if (f.min_memory_headroom_pct >= 0) l.memory_headroom = f.min_memory_headroom_pct / 100;
  if (f.max_host_gib >= 0) l.host_memory_gib = f.max_host_gib;
  if (f.most.gpus > 0) l.gpus = f.most.gpus;
  for (const SizeLimit& limit : kSizeLimits)
    if (const int most = f.most.*limit.most; most > 0) l.*limit.most = most;
  return goals;
}

}  // namespace shardfit::cli
