// SPDX-License-Identifier: Apache-2.0
#include "report/job_section.hpp"

#include <fmt/format.h>

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

std::string job_title(const Scenario& scenario) {
  return fmt::format("{} on {} x {}", scenario.job.model.name, scenario.job.gpus, scenario.job.hardware.name);
}

}  // namespace shardfit::report
