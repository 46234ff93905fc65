// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/estimate_sections.hpp"
#include "report/numbers.hpp"

// Sample:
//   Workload
//     images/sample            1.0  (cord-receipts)
//     visual tokens/sample   887.5  (spread 13 %)
//     slowest rank            1.24  (over the average; 64 wait for one another in each micro-batch)

namespace shardfit::report {
namespace {

Fact number_fact(const char* key, const char* title, double value, int digits, std::string remark = {}) {
  return {{key, title, ColumnKind::number, digits}, value, std::move(remark)};
}

}  // namespace

Section workload_section(const Scenario& scenario, const Estimate& estimate) {
  const SampleFigures& load = estimate.sample;
  const TrainingSpec& training = scenario.job.training;
  const std::string preset = training.vision ? training.vision->preset : "";
  Facts facts;
  facts.push_back(number_fact("images_per_sample", "images/sample", load.images_per_sample, 1, preset));
  facts.push_back(number_fact("visual_tokens_per_sample", "visual tokens/sample", load.visual_tokens_per_sample, 1,
                              load.images_per_sample > 0 ? fmt::format("spread {}", percent(load.spread, 0)) : ""));
  facts.push_back({{"spread", "spread", ColumnKind::ratio, 1, Shown::data_only}, load.spread, {}});
  facts.push_back(number_fact("patches_per_sample", "patches/sample", load.patches_per_sample, 1));
  if (load.tokens_per_sample > 0)
    facts.push_back(number_fact(
        "tokens_per_sample", "tokens/sample", load.tokens_per_sample, 1,
        fmt::format("{:.3g} samples a row of {}", load.samples_per_row, grouped(std::int64_t(training.sequence_length)))));
  else
    facts.push_back(
        {{"tokens_per_sample", "tokens/sample", ColumnKind::number, 1}, Cell(), "text is not stated: rows count as full"});
  facts.push_back(
      {{"executed_sequence", "rows run", ColumnKind::count},
       count_cell(load.executed_sequence),
       load.executed_sequence < training.sequence_length ? "tokens: nothing pads to full length" : "tokens, full length"});
  facts.push_back(
      number_fact("visual_tokens_per_microbatch", "visual tokens/micro-batch", load.visual_tokens_per_microbatch, 1));
  facts.push_back(number_fact("fullest_microbatch", "fullest micro-batch", load.fullest_microbatch, 2,
                              "over the average: what memory is made for"));
  facts.push_back(
      number_fact("slowest_rank", "slowest rank", load.slowest_rank, 2,
                  fmt::format("over the average; {} wait for one another in each micro-batch, all at the end of a step",
                              load.waiting_ranks)));
  return {"workload", "Workload", std::move(facts), {}};
}

}  // namespace shardfit::report
