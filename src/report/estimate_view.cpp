// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/estimate_sections.hpp"
#include "report/job_section.hpp"
#include "report/numbers.hpp"
#include "report/summary.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {

Document estimate_document(const Scenario& scenario, const Estimate& estimate, const std::optional<Change>& change) {
  Document document;
  document.view = "estimate";
  document.title = "Estimate: " + report::job_title(scenario);
  document.sections = {
      report::job_section(scenario),         report::layout_section(estimate),     report::stage_memory_section(estimate),
      report::memory_bill_section(estimate), report::time_section(estimate),       report::stage_time_section(estimate),
      report::traffic_section(estimate),     report::throughput_section(estimate), report::verdict_section(estimate)};
  if (estimate.sample.executed_sequence > 0)
    document.sections.insert(document.sections.begin() + 1, report::workload_section(scenario, estimate));
  document.warnings = report::all_warnings(scenario, estimate);
  document.summary = report::estimate_summary(estimate, change);
  document.tone = estimate.verdict.fits ? Tone::good : Tone::bad;
  if (change) document.sections.push_back(report::change_section(estimate, *change));
  return document;
}

}  // namespace shardfit
