// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/numbers.hpp"
#include "report/search_sections.hpp"
#include "shardfit/search/measure.hpp"

namespace shardfit::report {
namespace {

bool asked(const Study& study, const SweepResult& result, Metric m) {
  if (study.goals().objective == m) return true;
  for (Metric metric : result.front_metrics)
    if (metric == m) return true;
  return false;
}

Fact text_fact(const char* key, const char* title, std::string text, std::string remark = {}) {
  return {{key, title}, std::move(text), std::move(remark)};
}

void add_prices(const Study& study, Facts& facts) {
  for (const StudyJob& job : study.jobs())
    if (const auto price = figure_of(study.goals().usd_per_gpu_hour, job.scenario->job)) {
      const std::string& name = job.scenario->job.hardware.name;
      const std::string key = "usd_per_gpu_hour_" + name;
      if (facts.back().column.key != key)
        facts.push_back({{key, "USD a GPU-hour", ColumnKind::number, 2}, *price, name + ", stated"});
    }
}

void add_power(const Study& study, Facts& facts) {
  for (const StudyJob& job : study.jobs()) {
    const Job& j = job.scenario->job;
    const Figure watts = watts_of(j, study.goals());
    const std::string key = "watts_per_gpu_" + j.hardware.name;
    if (facts.back().column.key == key || watts.value <= 0) continue;
    const bool stated = figure_of(study.goals().watts_per_gpu, j).has_value();
    facts.push_back(
        {{key, "W a GPU", ColumnKind::number, 0},
         watts.value,
         j.hardware.name + (stated ? ", stated" : fmt::format(", board power, {}: {}", name_of(watts.kind), watts.source))});
  }
}

void add_limits(const Limits& limits, Facts& facts) {
  if (limits.memory_headroom > 0)
    facts.push_back({{"min_memory_headroom", "memory left free", ColumnKind::ratio, 1}, limits.memory_headroom, "at least"});
  const auto most = [&](const std::string& key, const char* title, double n) {
    if (n > 0) facts.push_back({{key, title, ColumnKind::number, 0}, n, "at most"});
  };
  most("max_host_memory_gib", "host GiB a GPU", limits.host_memory_gib);
  most("max_gpus", "GPUs", limits.gpus);
  for (const SizeLimit& limit : kSizeLimits) most(std::string("max_") + limit.key, limit.words, limits.*limit.most);
}

}  // namespace

Section goals_section(const Study& study, const SweepResult& result) {
  const Goals& goals = study.goals();
  std::string metrics;
  for (Metric m : result.front_metrics) metrics += (metrics.empty() ? "" : ", ") + std::string(name_of(m));
  Facts facts;
  facts.push_back(text_fact("objective", "objective", std::string(name_of(goals.objective)),
                            more_is_better(goals.objective) ? "more is better" : "less is better"));
  facts.push_back(text_fact("pareto", "Pareto front", metrics));
  const bool cost = asked(study, result, Metric::cost), energy = asked(study, result, Metric::energy);
  if (goals.train_tokens || cost || energy || asked(study, result, Metric::train_time))
    facts.push_back({{"train_tokens", "tokens to train", ColumnKind::number, 0},
                     goals.train_tokens.value_or(kUnitOfTokens),
                     goals.train_tokens ? "" : "a unit of them: --train-tokens states the run's"});
  add_prices(study, facts);
  if (energy || goals.train_tokens) add_power(study, facts);
  if (goals.base) facts.push_back(text_fact("base", "base layout", layout_id(*goals.base)));
  add_limits(goals.limits, facts);
  return {"goals", "Looked for", std::move(facts), {}};
}

std::string objective_text(const Study& study, const Candidate& candidate) {
  const std::size_t job = study.job_of(candidate.index);
  const Metric metric = study.goals().objective;
  const Measure measure(study.jobs()[job].scenario->job, *study.jobs()[job].estimator, study.goals(), {});
  Estimator::Workspace workspace;
  const double v = measure.value(metric, study.layout_of(candidate.index), candidate.quick, workspace);
  switch (metric) {
    case Metric::tokens_per_s_per_gpu: return grouped(v, 1) + " tokens/s/GPU";
    case Metric::useful_tokens_per_s: return grouped(v, 0) + " useful tokens/s";
    case Metric::step_time: return with_unit(Seconds(v)) + " a step";
    case Metric::train_time: return grouped(v / 3600, 1) + " h of training";
    case Metric::cost: return grouped(v, 0) + " USD";
    case Metric::energy: return grouped(v, 0) + " kWh";
    case Metric::peak_memory: return with_unit(Bytes(std::int64_t(v))) + " on the device";
    case Metric::host_memory: return with_unit(Bytes(std::int64_t(v))) + " of host memory a GPU";
    case Metric::gpus: return grouped(v, 0) + " GPUs";
    case Metric::changes: return grouped(v, 0) + (v == 1 ? " change" : " changes");
    case Metric::count: break;
  }
  return {};
}

}  // namespace shardfit::report
