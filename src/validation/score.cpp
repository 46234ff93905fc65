// SPDX-License-Identifier: Apache-2.0
#include "validation/score.hpp"

#include <algorithm>
#include <exception>

#include "validation/log_reading.hpp"

namespace shardfit::validation {
namespace {

std::optional<double> predicted(const MeasuredRun& run, const Estimate& e, const std::string& name) {
  const int last = e.layout.pp - 1;
  if (name == "static_allocated_bytes") return double(ledger_of(e, last, MemoryMoment::between_steps).allocated().value);
  if (name == kFirstStepPeak) return logged_first_step(run, e, last, run.resumed);
  if (name == "peak_allocated_second_logged_step_bytes") return logged_second_step(run, e, last);
  if (name == "peak_allocated_bytes") return double(allocated_peak(e, last).allocated.value);
  if (name == "peak_allocated_gb") return double(logged_peak(run, e).value) / kGB;
  if (name == "peak_gib") return in_gib(reported_peak(run, e));
  if (name == "reserved_gib") return in_gib(largest_reserved(e));
  if (name == "step_time_s" && !run.global_batch_assumed) return e.step_time_s;
  if (name == "tokens_per_s_per_gpu" && !run.global_batch_assumed) return e.tokens_per_s_per_gpu;
  if (name == "tflops_per_gpu" && !run.global_batch_assumed) return e.model_tflops_per_gpu;
  return std::nullopt;
}

void score_quantities(const MeasuredRun& run, const Estimate& e, Row& row) {
  for (const auto& [name, measured] : run.quantities)
    if (const auto value = predicted(run, e, name); value && measured > 0) row.scores.push_back({name, measured, *value});
  for (const auto& [name, by_rank] : run.by_rank) {
    if (by_rank.empty()) continue;
    const double measured = *std::max_element(by_rank.begin(), by_rank.end());
    const Bytes most = name == "peak_reserved_mib_by_rank" ? largest_reserved(e) : largest_allocated(e);
    row.scores.push_back({name, measured, in_mib(most)});
  }
}

/// Scores the bytes between steps a second time, where a row states figures that were inferred from sizes: now with what
/// the stack's profile makes of them.
void score_static_by_profile(const MeasuredRun& run, Row& row) {
  const auto measured = run.quantities.find("static_allocated_bytes");
  if (measured == run.quantities.end() || !run.stack_by_profile) return;
  Job job = run.scenario.job;
  job.stack = *run.stack_by_profile;
  const Estimate e = Estimator(job).evaluate(run.scenario.base);
  const Bytes bytes = ledger_of(e, e.layout.pp - 1, MemoryMoment::between_steps).allocated();
  row.scores.push_back({"static_allocated_bytes_by_profile", measured->second, double(bytes.value)});
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) all += (all.empty() ? "" : "; ") + t;
  return all;
}

std::string words_of_violation(const Violation& v) {
  const RuleInfo& rule = rules()[std::size_t(v.rule)];
  return std::string(rule.code) + ": " + std::string(rule.condition) + " (" + std::to_string(v.got) + " against " +
         std::to_string(v.need) + ")";
}

/// A row that its source leaves incomplete is held against nothing, but the relation to another run may be: with what is
/// assumed in the place of what is missing. No estimate where that is no layout.
void set_estimate_for_relations(const MeasuredRun& run, Row& row) {
  try {
    const Layout& layout = run.scenario.base;
    if (!first_violation(run.scenario.job, layout)) row.estimate = Estimator(run.scenario.job).evaluate(layout);
  } catch (const std::exception&) {
    row.estimate.reset();   // the row already says why it is not scored
  }
}

}  // namespace

Row score(const MeasuredRun& run) {
  Row row{.id = run.id};
  if (!run.invalid.empty()) {
    row.status = RowStatus::invalid;
    row.reason = run.invalid;
    return row;
  }
  if (!run.unsupported.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = joined(run.unsupported);
    return row;
  }
  if (!run.incomplete.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = "incomplete in its source: " + joined(run.incomplete);
    set_estimate_for_relations(run, row);
    return row;
  }
  try {
    const Layout& layout = run.scenario.base;
    const auto violations = all_violations(run.scenario.job, layout);
    const auto size = std::find_if(violations.begin(), violations.end(), [](const Violation& v) { return !is_setting(v.rule); });
    if (size != violations.end()) {
      row.status = RowStatus::invalid;
      row.reason = words_of_violation(*size);
      return row;
    }
    // What ran is predicted: either the row says what it did not do, or the rule holds no longer, or not yet.
    if (!violations.empty()) row.breaks = words_of_violation(violations.front());
    row.estimate = Estimator(run.scenario.job).evaluate(layout);
    score_quantities(run, *row.estimate, row);
    score_static_by_profile(run, row);
    if (run.oom) row.verdict = {*run.oom, !row.estimate->verdict.fits, row.estimate->verdict.p_oom};
  } catch (const std::exception& problem) {
    row.status = RowStatus::error;
    row.reason = problem.what();
    row.estimate.reset();
  }
  return row;
}

}  // namespace shardfit::validation
