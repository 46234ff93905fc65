// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/estimate_sections.hpp"
#include "report/job_section.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"
#include "report/summary.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {
namespace {

Row violation_row(const Violation& violation, const Cure& cure) {
  const RuleInfo& rule = rules()[std::size_t(violation.rule)];
  const std::string hint = cure_text(cure);
  Row row;
  row.cells = {text_cell(rule.code),      Cell(numbers_text(violation)),      count_cell(violation.got),
               text_cell(rule.got),       count_cell(violation.need),         text_cell(rule.need),
               text_cell(rule.condition), hint.empty() ? Cell() : Cell(hint), text_cell(name_of(rule.asserted_by)),
               text_cell(rule.pointer)};
  return row;
}

Section violations_section(const CheckResult& result) {
  Table table;
  table.columns = {{"rule", "rule"},
                   {"message", "found", ColumnKind::text, 0, Shown::table_only},
                   {"got", "got", ColumnKind::count, 0, Shown::data_only},
                   {"got_what", "got what", ColumnKind::text, 0, Shown::data_only},
                   {"need", "need", ColumnKind::count, 0, Shown::data_only},
                   {"need_what", "need what", ColumnKind::text, 0, Shown::data_only},
                   {"condition", "must hold"},
                   {"cure", "cure"},
                   {"asserted_by", "asserted by"},
                   {"pointer", "see"}};
  table.cards = true;
  for (std::size_t i = 0; i < result.violations.size(); ++i)
    table.rows.push_back(violation_row(result.violations[i], i < result.cures.size() ? result.cures[i] : Cure{}));
  return {"violations", "Rules broken", std::move(table), {}};
}

std::string summary_of(const CheckResult& result) {
  if (!result.violations.empty()) {
    const std::string hint = result.cures.empty() ? "" : cure_text(result.cures.front());
    const std::string split = result.split ? fmt::format("; or --pipeline-split 'layout:{}'", result.split->text) : "";
    return fmt::format("Not allowed: {}{}{}", violation_text(result.violations.front()), hint.empty() ? "" : "; " + hint,
                       split);
  }
  if (!result.estimate) return "Allowed by the rules; memory was not computed";
  std::string text = report::verdict_text(result.estimate->verdict);
  if (result.change) text += ". Fits with " + report::change_text(*result.estimate, *result.change);
  return text;
}

}  // namespace

Document check_document(const Scenario& scenario, const CheckResult& result) {
  Document document;
  document.view = "check";
  document.title = "Check: " + report::job_title(scenario);
  Facts layout{{{"layout_id", "layout id"}, layout_id(result.layout), {}}, {{"ok", "runs", ColumnKind::flag}, result.ok(), {}}};
  if (result.split)
    layout.push_back(
        {{"split_that_would_do", "split that would do"}, text_cell("layout:" + result.split->text), "--pipeline-split"});
  document.sections.push_back({"layout", "Layout", std::move(layout), {}});
  document.sections.push_back(violations_section(result));
  document.warnings = scenario.assumptions;
  if (result.estimate) {
    document.sections.push_back(report::stage_memory_section(*result.estimate));
    document.sections.push_back(report::verdict_section(*result.estimate));
    document.warnings = report::all_warnings(scenario, *result.estimate);
    if (result.change) document.sections.push_back(report::change_section(*result.estimate, *result.change));
  }
  document.summary = summary_of(result);
  document.tone = result.ok() ? Tone::good : Tone::bad;
  return document;
}

}  // namespace shardfit
