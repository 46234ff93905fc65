// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "estimate/describe.hpp"
#include "report/estimate_sections.hpp"
#include "report/job_section.hpp"
#include "report/memory_groups.hpp"
#include "report/summary.hpp"
#include "report/symbols_section.hpp"
#include "report/timeline_section.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {
namespace {

std::vector<Cell> words(const TermWords& w) {
  const auto cell = [](const char* text) { return text && *text ? text_cell(text) : Cell(); };
  return {cell(w.what), cell(w.formula), cell(w.source), cell(w.ignores)};
}

const std::vector<Column> kWordColumns = {
    {"what", "what"}, {"formula", "formula"}, {"source", "source"}, {"ignores", "ignores"}};

/// The largest size of a term at its stage's dearest moment and where that is.
struct Largest {
  Bytes bytes;
  int stage = -1;
};
Largest largest_of(const Estimate& estimate, MemoryTerm term) {
  Largest best;
  for (const StageMemory& row : estimate.memory)
    if (row.ledger[term] > best.bytes) best = {row.ledger[term], row.stage};
  return best;
}

Section memory_terms_section(const Estimate& estimate) {
  Table table;
  table.cards = true;
  table.columns = {{"term", "term"},
                   {"group", "group"},
                   {"size", "at the peak", ColumnKind::bytes},
                   {"largest", "largest", ColumnKind::bytes},
                   {"largest_stage", "on stage", ColumnKind::count}};
  table.columns.insert(table.columns.end(), kWordColumns.begin(), kWordColumns.end());
  const StageMemory* peak = report::fullest(estimate);
  for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i) {
    const MemoryTerm term = MemoryTerm(i);
    const Largest largest = largest_of(estimate, term);
    if (largest.stage < 0) continue;
    Row row;
    row.cells = {text_cell(name_of(term)), text_cell(name_of(report::group_of(term))), peak ? Cell(peak->ledger[term]) : Cell(),
                 largest.bytes, count_cell(largest.stage)};
    for (Cell& cell : words(words_of(term))) row.cells.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  Section section{"memory_terms", "Memory terms", std::move(table), {}};
  section.notes.push_back("at the peak: on the fullest rank at its dearest moment; largest: over all stages and moments");
  return section;
}

Section time_terms_section(const Estimate& estimate) {
  Table table;
  table.cards = true;
  table.columns = {{"term", "term"}, {"share", "share", ColumnKind::ratio}, {"time", "a step", ColumnKind::seconds}};
  table.columns.insert(table.columns.end(), kWordColumns.begin(), kWordColumns.end());
  const Seconds total = estimate.time.total();
  for (std::size_t i = 0; i < kCount<TimeTerm>; ++i) {
    const Seconds time = estimate.time.rows[TimeTerm(i)];
    if (time == Seconds(0)) continue;
    Row row;
    row.cells = {text_cell(name_of(TimeTerm(i))), Cell(time / total), time};
    for (Cell& cell : words(words_of(TimeTerm(i)))) row.cells.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return {"time_terms", "Time terms", std::move(table), {}};
}

}  // namespace

Document explain_document(const Scenario& scenario, const Estimate& estimate, ExplainParts parts,
                          std::span<const Change> savings) {
  const bool all = !parts.memory && !parts.time && !parts.traffic && !parts.modules && !parts.timeline;
  Document document;
  document.view = "explain";
  document.title = "Explain: " + report::job_title(scenario);
  auto& sections = document.sections;
  sections = {report::job_section(scenario), report::layout_section(estimate), report::symbols_section(scenario.job, estimate)};
  if (all || parts.memory) {
    sections.push_back(memory_terms_section(estimate));
    sections.push_back(report::tensors_section(estimate));
    sections.push_back(report::memory_moments_section(estimate));
    sections.push_back(report::stage_memory_section(estimate));
    sections.push_back(report::memory_bill_section(estimate));
    if (!savings.empty()) sections.push_back(report::savings_section(estimate, savings));
  }
  if (all || parts.time) {
    sections.push_back(time_terms_section(estimate));
    sections.push_back(report::stage_time_section(estimate));
    sections.push_back(report::time_section(estimate));
  }
  if (parts.timeline)
    for (Section& section : report::timeline_sections(estimate)) sections.push_back(std::move(section));
  if (all || parts.traffic) {
    sections.push_back(report::collectives_section(estimate));
    sections.push_back(report::traffic_section(estimate));
  }
  if ((all || parts.modules) && estimate.sample.executed_sequence > 0)
    sections.push_back(report::workload_section(scenario, estimate));
  if (all || parts.modules) sections.push_back(report::modules_section(estimate));
  sections.push_back(report::throughput_section(estimate));
  sections.push_back(report::verdict_section(estimate));
  document.warnings = report::all_warnings(scenario, estimate);
  document.summary = report::estimate_summary(estimate, std::nullopt);
  document.tone = estimate.verdict.fits ? Tone::good : Tone::bad;
  return document;
}

}  // namespace shardfit
