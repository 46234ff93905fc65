// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/candidates.hpp"
#include "report/job_section.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"
#include "report/search_sections.hpp"
#include "shardfit/report/views.hpp"
#include "workload/sample.hpp"

// Sample:
//   Fastest layouts that fit
//      #  tokens/s/GPU  step s  peak GiB  most time in  tp  cp  pp ...
//      1       2,345.6   3.210    150.21  experts        2   1   4 ...

namespace shardfit {
namespace {

using report::grouped;

/// What the nearest layout may use: usable memory less the headroom of the limits.
Bytes budget_of(const Study& study, const Candidate& nearest) {
  const Bytes usable = study.estimator_of(nearest.index).usable_memory();
  return Bytes(std::int64_t(double(usable.value) * (1 - study.goals().limits.memory_headroom)));
}

Section space_section(const Study& study, const SweepResult& result) {
  const auto count = [](const char* key, const char* title, std::uint64_t n, std::string remark = {}) {
    return Fact{{key, title, ColumnKind::count}, count_cell(std::int64_t(n)), std::move(remark)};
  };
  const double rate = result.seconds > 0 ? double(result.evaluated) / result.seconds : 0;
  Facts facts;
  facts.push_back(count("space", "combinations", result.space));
  facts.push_back(count("evaluated", "looked at", result.evaluated, result.complete ? "" : "interrupted"));
  facts.push_back(count("valid", "allowed by the rules", result.valid));
  facts.push_back(count("fit", "fit in memory", result.fit));
  if (result.nearest) {
    facts.push_back(
        {{"nearest_layout_id", "nearest", ColumnKind::text}, Cell(layout_id(study.layout_of(result.nearest->index))), {}});
    facts.push_back(
        {{"nearest_over", "over by", ColumnKind::bytes}, result.nearest->quick.peak - budget_of(study, *result.nearest), {}});
  }
  facts.push_back({{"complete", "complete", ColumnKind::flag, 0, Shown::data_only}, result.complete, {}});
  // Wall time differs from run to run, so it is told to people and kept out of data files that one may want to compare.
  facts.push_back({{"elapsed", "time", ColumnKind::seconds, 0, Shown::table_only},
                   Seconds(result.seconds),
                   rate > 0 ? grouped(rate, 0) + " layouts/s" : ""});
  // And so does what a thread knew when a layout's turn came.
  const auto pruned = [&](const char* key, const char* title, std::uint64_t n, std::uint64_t of, std::string remark) {
    if (n > 0 && of > 0)
      facts.push_back({{key, title, ColumnKind::ratio, 1, Shown::table_only}, double(n) / double(of), std::move(remark)});
  };
  pruned("pruned_by_rules", "pruned by rules", result.pruned.by_rules, result.evaluated,
         "of combinations: refused together with others");
  pruned("pruned_by_state", "pruned by state", result.pruned.by_state, result.valid,
         "of allowed layouts: weights and optimizer state alone are too much");
  pruned("pruned_by_recompute", "pruned by recompute", result.pruned.by_recompute, result.valid,
         "of allowed layouts: too much even with every module recomputed");
  pruned("pruned_by_graphs", "pruned by graphs", result.pruned.by_graphs, result.valid,
         "of allowed layouts: too much with fewer graphs already");
  pruned("pruned_by_time", "pruned by time", result.pruned.by_time, result.valid,
         "of allowed layouts: others are faster and smaller than they can be");
  return {"space", "Space", std::move(facts), {}};
}

/// Code and condition of a reason for refusing layouts.
struct Reason {
  std::string_view code, condition;
};

Reason reason_of(const Rejected& rejected) {
  if (rejected.rule == kRefusedByMemory) return {"memory", "device use of the fullest rank within usable memory"};
  if (rejected.rule == kRefusedByLimit) return {"limit", "memory that the limits ask to leave free, on device or host"};
  if (rejected.rule == kRefusedAsAlias) return {"alias", "differs from another layout of the search in more than its name"};
  const RuleInfo& rule = rules()[std::size_t(rejected.rule)];
  return {rule.code, rule.condition};
}

Row rejected_row(const Study& study, const SweepResult& result, const Rejected& rejected) {
  const bool by_rule = rejected.rule >= 0;
  const Reason reason = reason_of(rejected);
  Row row;
  row.cells.push_back(result.evaluated > 0 ? Cell(double(rejected.count) / double(result.evaluated)) : Cell());
  row.cells.push_back(count_cell(std::int64_t(rejected.count)));
  row.cells.push_back(text_cell(reason.code));
  row.cells.push_back(by_rule ? count_cell(rejected.violation.got) : Cell());
  row.cells.push_back(by_rule ? count_cell(rejected.violation.need) : Cell());
  row.cells.push_back(text_cell(reason.condition));
  row.cells.push_back(layout_id(study.layout_of(rejected.example)));
  return row;
}

Section rejected_section(const Study& study, const SweepResult& result) {
  Table table;
  table.columns = {{"share", "", ColumnKind::ratio},
                   {"count", "layouts", ColumnKind::count},
                   {"reason", "reason"},
                   {"example_got", "got", ColumnKind::count},
                   {"example_need", "need", ColumnKind::count},
                   {"condition", "what must hold"},
                   {"example_layout_id", "example", ColumnKind::text, 0, Shown::data_only}};
  for (const Rejected& rejected : result.rejected) table.rows.push_back(rejected_row(study, result, rejected));
  Section section{"rejected", "Refused, by the first reason found", std::move(table), {}};
  if (!result.rejected.empty())
    section.notes.push_back(
        "got, need: of the first layout refused; its id is in --format csv and json, for `check --layout ID`");
  return section;
}

std::string ties_text(const NearTies& ties) {
  if (ties.count < 2) return {};
  return fmt::format("; {}{} others are within its error band of {}", ties.at_least ? "at least " : "",
                     grouped(std::int64_t(ties.count - 1)), report::percent(ties.band, 0));
}

/// "; split first_last:16:24 gains 9.8 % over uniform": of the best layout, if going back was tried.
std::string split_text(const Study& study, const SweepResult& result) {
  if (result.steps.empty()) return {};
  for (const AxisStep& step : result.steps.front()) {
    if (!step.to_even_split) continue;
    const Layout best = study.layout_of(result.top.front().index);
    const std::string even = report::axis_text(LayoutAxis::split, step.layout);
    const std::string start = "; split " + report::axis_text(LayoutAxis::split, best);
    if (!step.runs()) return start + " fits, " + even + " does not";
    if (step.loss <= 0) return {};
    return fmt::format("{} takes {} less time than {}", start, report::percent(step.loss / (1 + step.loss)), even);
  }
  return {};
}

std::string nearest_text(const Study& study, const Candidate& nearest) {
  const Bytes budget = budget_of(study, nearest);
  return fmt::format("nearest: {}, which needs {} of {}, {} too much; `check` says what would help",
                     layout_id(study.layout_of(nearest.index)), report::with_unit(nearest.quick.peak),
                     report::with_unit(budget), report::with_unit(nearest.quick.peak - budget));
}

/// Fine-tuners pay for padding: what is left of the tokens without it, where that is clearly less.
std::string useful_text(const Study& study, const Judged& best) {
  constexpr double kMuchPadding = 0.1;
  const Job& job = study.scenario_of(best.index).job;
  const double rows = double(job.training.global_batch_size) * job.training.sequence_length;
  const double useful = workload::useful_tokens_per_step(job) / rows;
  return useful < 1 - kMuchPadding
             ? fmt::format("; only {} of these tokens are no padding (training.packing)", report::percent(useful, 0))
             : "";
}

/// The fastest that fits often stands at the edge of the memory.
std::string risk_text(const Judged& best) {
  constexpr double kWorthWarning = 0.1;
  return best.p_oom > kWorthWarning
             ? fmt::format("; its chance of running out of memory is {} (--min-memory-headroom keeps clear of it)",
                           report::percent(best.p_oom, 0))
             : "";
}

std::string sweep_summary(const Study& study, const SweepResult& result) {
  const std::string partial = result.complete ? "" : " (interrupted: best of what was looked at)";
  if (result.top.empty()) {
    if (!result.complete && result.evaluated == 0) return "Interrupted before a layout was looked at";
    if (result.space == 0) return "The search is empty: the limits on sizes leave one of its axes no value";
    const bool limited = std::any_of(result.rejected.begin(), result.rejected.end(),
                                     [](const Rejected& r) { return r.rule == kRefusedByLimit && r.count > 0; });
    if (limited && !result.nearest)
      return "No layout stays within the limits on memory" + partial +
             "; the table of refusals says how many exceed them (limit)";
    if (limited) return "No layout stays within the limits on memory; " + nearest_text(study, *result.nearest);
    if (result.nearest) return "No layout fits; " + nearest_text(study, *result.nearest);
    if (result.valid > 0) return "No layout fits" + partial + "; see `check` on one of them for how much is missing";
    return "No layout passes the rules" + partial + "; the table of refusals names what to change first";
  }
  const Judged& judged = result.top.front();
  const Quick& best = judged.quick;
  const bool by_tokens = study.goals().objective == Metric::tokens_per_s_per_gpu;
  const std::string what = by_tokens ? "" : report::objective_text(study, result.top.front()) + ", ";
  return fmt::format("{}: {}{} tokens/s/GPU, {} a step, peak {}; most time in {}{}{}",
                     by_tokens ? "Fastest that fits" : "Best that fits", what, grouped(best.tokens_per_s_per_gpu, 1),
                     report::with_unit(Seconds(best.step_time_s)), report::with_unit(best.peak), name_of(best.bottleneck),
                     useful_text(study, judged) + risk_text(judged) + split_text(study, result) + ties_text(result.ties),
                     partial);
}

std::string front_title(const SweepResult& result) {
  std::string text;
  for (Metric m : result.front_metrics) text += (text.empty() ? "" : " against ") + std::string(name_of(m));
  return "Pareto front: " + text;
}

/// A front is printed as far as the ranking is, but not less than a screen's part.
void keep_short(Section& front, std::size_t ranked) {
  constexpr std::size_t kLeast = 10;
  Table& table = std::get<Table>(front.body);
  table.most_printed = std::max(kLeast, ranked);
  table.rest = "--pareto-csv FILE has them all";
}

std::vector<std::string> warnings_of(const Study& study) {
  std::vector<std::string> all;
  for (const StudyJob& job : study.jobs())
    for (const std::string& what : job.scenario->assumptions)
      if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
  if (study.size() == 1)
    all.push_back(
        "one layout alone is no search: `estimate` tells more of it, and axes are opened in `search` or by flags, as "
        "--tp 1,2,4");
  return all;
}

}  // namespace

Document sweep_document(const Study& study, const SweepResult& result) {
  Document document;
  document.view = "sweep";
  document.title = "Sweep: " + report::job_title(study);
  document.sections.push_back(report::job_section(study));
  document.sections.push_back(report::goals_section(study, result));
  document.sections.push_back(space_section(study, result));
  document.sections.push_back(rejected_section(study, result));
  document.sections.push_back(report::candidate_section("pareto", front_title(result), study, result.pareto));
  keep_short(document.sections.back(), result.top.size());
  if (!result.top.empty())
    document.sections.push_back(report::near_ties_section(result.ties));
  else
    document.sections.push_back({"near_ties", "Near-ties", Table{}, {}});
  document.sections.push_back(report::sensitivity_section(study, result));
  document.sections.push_back(report::more_memory_section(study, result));
  document.sections.push_back(report::candidate_section(
      "top", study.goals().objective == Metric::tokens_per_s_per_gpu ? "Fastest layouts that fit" : "Best layouts that fit",
      study, result.top));
  document.warnings = warnings_of(study);
  document.summary = sweep_summary(study, result);
  document.tone = result.top.empty() ? Tone::bad : Tone::good;
  return document;
}

}  // namespace shardfit
