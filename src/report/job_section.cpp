// SPDX-License-Identifier: Apache-2.0
#include "report/job_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shardfit/estimate/estimate.hpp"

namespace shardfit::report {
namespace {

Fact text_fact(const char* key, const char* title, std::string_view text, std::string remark = {}) {
  return {{key, title}, text_cell(text), std::move(remark)};
}

Fact count_fact(const char* key, const char* title, std::int64_t n) {
  return {{key, title, ColumnKind::count}, count_cell(n), {}};
}

std::string optimizer_text(const OptimizerSpec& optimizer) {
  return fmt::format("{}, gradients {}, master weights {}, moments {} and {}", name_of(optimizer.kind),
                     name_of(optimizer.grad_buffer_dtype), name_of(optimizer.main_params_dtype),
                     name_of(optimizer.exp_avg_dtype), name_of(optimizer.exp_avg_sq_dtype));
}

}  // namespace

Section job_section(const Scenario& scenario) {
  const Job& job = scenario.job;
  const TrainingSpec& training = job.training;
  Facts facts;
  facts.push_back(text_fact("scenario", "scenario", scenario.name));
  facts.push_back(text_fact("model", "model", job.model.name));
  facts.push_back(text_fact("hardware", "hardware", job.hardware.name));
  facts.push_back(count_fact("gpus", "GPUs", job.gpus));
  facts.push_back(text_fact("task", "task", name_of(training.task)));
  facts.push_back(text_fact("precision", "precision", name_of(training.precision)));
  facts.push_back(count_fact("sequence_length", "sequence length", training.sequence_length));
  facts.push_back(count_fact("global_batch_size", "global batch", training.global_batch_size));
  facts.push_back(text_fact("optimizer", "optimizer", optimizer_text(training.optimizer)));
  facts.push_back(text_fact("routing", "routing", name_of(training.routing)));
  facts.push_back(text_fact("stack", "software", job.stack.name, job.stack.date));
  facts.push_back(text_fact("cost_model_version", "cost model", kCostModelVersion));
  return {"job", "Job", std::move(facts), {}};
}

namespace {

/// "64, 128": each value once, in the order of the jobs.
template <class Read>
std::string values_of(const Study& study, Read read) {
  std::vector<std::string> seen;
  std::string text;
  for (const StudyJob& job : study.jobs()) {
    std::string value = read(job.scenario->job);
    if (std::find(seen.begin(), seen.end(), value) != seen.end()) continue;
    text += (text.empty() ? "" : ", ") + value;
    seen.push_back(std::move(value));
  }
  return text;
}

std::string hardware_of(const Study& study) {
  return values_of(study, [](const Job& j) { return j.hardware.name; });
}
std::string gpus_of(const Study& study) {
  return values_of(study, [](const Job& j) { return std::to_string(j.gpus); });
}

}  // namespace

Section job_section(const Study& study) {
  Section section = job_section(*study.jobs().front().scenario);
  if (study.jobs().size() == 1) return section;
  for (Fact& fact : std::get<Facts>(section.body)) {
    if (fact.column.key == "hardware") fact.value = hardware_of(study);
    if (fact.column.key == "gpus") fact = text_fact("gpus", "GPUs", gpus_of(study));
    if (fact.column.key == "precision")
      fact.value = values_of(study, [](const Job& j) { return std::string(name_of(j.training.precision)); });
  }
  return section;
}

std::string job_title(const Study& study) {
  return fmt::format("{} on {} x {}", study.jobs().front().scenario->job.model.name, gpus_of(study), hardware_of(study));
}

std::string job_title(const Scenario& scenario) {
  return fmt::format("{} on {} x {}", scenario.job.model.name, scenario.job.gpus, scenario.job.hardware.name);
}

}  // namespace shardfit::report
