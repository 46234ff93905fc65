// SPDX-License-Identifier: Apache-2.0
#include "shardfit/report/compare_view.hpp"

#include <fmt/format.h>

#include "report/candidates.hpp"
#include "report/compare_sections.hpp"
#include "report/job_section.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"
#include "shardfit/report/views.hpp"

// Sample:
//   Layouts
//     family  which     useful tokens/s/GPU  step s  peak GiB  OOM %  exposed traffic %  tp  cp  pp ...
//     fsdp    bring-up              1,234.5  53.210    101.20      0               12.3   1   1   1 ...

namespace shardfit {
namespace {

using report::kFamilies;
using report::percent;
using report::with_unit;

/// Seconds of a step in which traffic is all that happens.
Seconds exposed_traffic(const TimeLedger& time) {
  Seconds sum;
  for (const TimeTerm term : {TimeTerm::tensor_parallel, TimeTerm::expert_parallel, TimeTerm::context_parallel,
                              TimeTerm::data_parallel, TimeTerm::pipeline_p2p})
    sum += time.rows[term];
  return sum;
}

void add_layout(Table& table, Family family, const char* which, const std::optional<Estimate>& e) {
  if (!e) return;
  Row row;
  row.cells = {text_cell(name_of(family)),
               text_cell(which),
               e->useful_tokens_per_s_per_gpu,
               e->tokens_per_s_per_gpu,
               e->samples_per_s,
               e->images_per_s > 0 ? Cell(e->images_per_s) : Cell(),
               Seconds(e->step_time_s),
               e->verdict.need,
               e->verdict.p_oom,
               exposed_traffic(e->time),
               exposed_traffic(e->time).value / e->step_time_s};
  for (const report::LayoutField& field : report::layout_fields()) row.cells.push_back(field.read(e->layout, e->grid));
  row.cells.push_back(text_cell(e->layout_id));
  table.rows.push_back(std::move(row));
}

Section layouts_section(const Comparison& c) {
  Table table;
  table.columns = {{"family", "family"},
                   {"which", "which"},
                   {"useful_tokens_per_s_per_gpu", "useful tokens/s/GPU", ColumnKind::number, 1},
                   {"tokens_per_s_per_gpu", "tokens/s/GPU", ColumnKind::number, 1, Shown::data_only},
                   {"samples_per_s", "samples/s", ColumnKind::number, 1},
                   {"images_per_s", "images/s", ColumnKind::number, 1},
                   {"step_time", "step", ColumnKind::seconds},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"p_oom", "OOM", ColumnKind::ratio, 0},
                   {"exposed_traffic", "exposed traffic", ColumnKind::seconds, 0, Shown::data_only},
                   {"exposed_traffic_share", "exposed traffic", ColumnKind::ratio}};
  for (const report::LayoutField& field : report::layout_fields()) table.columns.push_back(report::column_of(field));
  table.columns.push_back({"layout_id", "layout id", ColumnKind::text, 0, Shown::data_only});
  for (const Family family : kFamilies) {
    add_layout(table, family, "bring-up", c.families[family].bring_up);
    add_layout(table, family, "best", c.families[family].best);
  }
  const std::string same = report::hide_constant_columns(table);
  Section section{"layouts", "Layouts", std::move(table), {}};
  if (!same.empty()) section.notes.push_back("in every row: " + same);
  section.notes.push_back(
      "bring-up: fastest with micro-batch 1, full recompute and nothing else turned on; best: fastest that is safe in memory");
  return section;
}

Section effort_section(const Comparison& c) {
  Table table;
  table.columns = {{"family", "family"},
                   {"valid", "allowed layouts", ColumnKind::count},
                   {"fit_share", "of them fit", ColumnKind::ratio},
                   {"tuned_knobs", "knobs to tune", ColumnKind::count},
                   {"gain_of_tuning", "best over bring-up", ColumnKind::ratio},
                   {"worst_step", "lost one step off", ColumnKind::ratio},
                   {"dying_steps", "steps out of memory", ColumnKind::count}};
  for (const Family family : kFamilies) {
    const FamilyResult& f = c.families[family];
    Row row;
    row.cells = {text_cell(name_of(family)),
                 count_cell(std::int64_t(f.valid)),
                 f.valid > 0 ? Cell(double(f.fit) / double(f.valid)) : Cell(),
                 {},
                 {},
                 {},
                 {}};
    if (f.best) row.cells[3] = count_cell(std::int64_t(f.tuned.size()));
    if (f.best && f.bring_up) row.cells[4] = f.bring_up->step_time_s / f.best->step_time_s - 1;
    if (f.best) row.cells[5] = worst_step(f);
    if (f.best) row.cells[6] = count_cell(dying_steps(f));
    table.rows.push_back(std::move(row));
  }
  Section section{"effort", "What it takes", std::move(table), {}};
  section.notes.push_back(
      "knob to tune: left where a run starts, the best layout loses more than 1 %, does not fit or is refused");
  section.notes.push_back(
      "one step off: the larger loss of micro-batch size and recompute, of steps that fit; the others run out of memory");
  return section;
}

/// What comes of a changed axis: the loss, or why there is none.
Cell loss_cell(const AxisStep& step) { return step.runs() ? Cell(step.loss) : Cell(); }
Cell outcome_cell(const AxisStep& step) {
  if (step.refused) return text_cell(rules()[std::size_t(step.refused->rule)].code);
  return text_cell(step.quick.fits ? "fits" : "does not fit");
}

Table step_table() {
  Table table;
  table.columns = {{"family", "family"},
                   {"axis", "axis"},
                   {"now", "best"},
                   {"to", "changed to"},
                   {"loss", "step time", ColumnKind::ratio},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"outcome", "outcome"}};
  return table;
}

void add_step(Table& table, Family family, const Layout& best, const AxisStep& step) {
  table.rows.push_back({{text_cell(name_of(family)), text_cell(name_of(step.axis)),
                         text_cell(report::axis_text(step.axis, best)), text_cell(report::axis_text(step.axis, step.layout)),
                         loss_cell(step), step.refused ? Cell() : Cell(step.quick.peak), outcome_cell(step)},
                        RowKind::data,
                        0});
}

Section knobs_section(const Comparison& c) {
  Table table = step_table();
  for (const Family family : kFamilies)
    for (const TunedKnob& knob : c.families[family].tuned) add_step(table, family, c.families[family].best->layout, knob.back);
  return {"knobs", "Knobs that had to be tuned, and going back on each alone", std::move(table), {}};
}

Section steps_section(const Comparison& c) {
  Table table = step_table();
  for (const Family family : kFamilies)
    for (const AxisStep& step : c.families[family].steps) add_step(table, family, c.families[family].best->layout, step);
  return {"steps", "One step off the best", std::move(table), {}};
}

Section changes_section(const Comparison& c) {
  Table table;
  table.columns = {{"family", "family"},
                   {"change", "the same layout with"},
                   {"gain", "tokens/s", ColumnKind::ratio},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"peak_change", "change of peak", ColumnKind::bytes},
                   {"recompute", "recompute", ColumnKind::text}};
  for (const Family family : kFamilies)
    for (const JobChange& change : c.families[family].changes)
      table.rows.push_back({{text_cell(name_of(family)), text_cell(name_of(change.kind)), change.gain, change.quick.peak,
                             change.quick.peak - c.families[family].best->verdict.need,
                             text_cell(report::axis_text(LayoutAxis::recompute, change.layout))},
                            RowKind::data,
                            0});
  return {"changes", "The best layouts on other data", std::move(table), {}};
}

std::string shown_name(Family family) { return family == Family::fsdp ? "FSDP" : "3D"; }

std::string reason_text(const Comparison& c) {
  const Family other = *c.start == Family::fsdp ? Family::three_d : Family::fsdp;
  const FamilyResult &start = c.families[*c.start], &rest = c.families[other];
  if (c.reason == StartReason::only_one_fits) return fmt::format("no {} layout fits", shown_name(other));
  if (c.reason == StartReason::fewer_knobs)
    return fmt::format("{} knob{} to tune against {}, {} allowed layouts against {}", start.tuned.size(),
                       start.tuned.size() == 1 ? "" : "s", rest.tuned.size(), report::grouped(std::int64_t(start.valid)),
                       report::grouped(std::int64_t(rest.valid)));
  if (c.reason == StartReason::fewer_layouts)
    return fmt::format("as many knobs to tune and about as steady, but {} allowed layouts against {}",
                       report::grouped(std::int64_t(start.valid)), report::grouped(std::int64_t(rest.valid)));
  return fmt::format("as many knobs to tune, and a wrong step of micro-batch or recompute costs {} against {}",
                     percent(worst_step(start), 0), percent(worst_step(rest), 0));
}

std::string summary_text(const Comparison& c) {
  if (!c.start) return "No layout of either family fits";
  std::string text = fmt::format("Start with {}: {}.", shown_name(*c.start), reason_text(c));
  const Family slower = *c.ceiling == Family::fsdp ? Family::three_d : Family::fsdp;
  if (c.families[slower].best) {
    const double ratio = c.families[slower].best->step_time_s / c.families[*c.ceiling].best->step_time_s - 1;
    text += fmt::format(" The higher ceiling is {}: {} more useful tokens/s than the best {} layout.", shown_name(*c.ceiling),
                        percent(ratio), shown_name(slower));
    if (report::too_close(c))
      text += fmt::format(" That is within the error of a step time, {}: no order.", percent(report::ceiling_band(c), 0));
  }
  return text + (c.complete ? "" : " (interrupted: best of what was looked at)");
}

}  // namespace

Document compare_document(const Scenario& scenario, const Comparison& c) {
  Document document;
  document.view = "compare";
  document.title = "FSDP and 3D: " + report::job_title(scenario);
  document.sections = {report::job_section(scenario),
                       layouts_section(c),
                       effort_section(c),
                       knobs_section(c),
                       steps_section(c),
                       changes_section(c),
                       report::advice_section(c)};
  document.warnings = scenario.assumptions;
  document.summary = summary_text(c);
  document.tone = c.start ? Tone::good : Tone::bad;
  return document;
}

}  // namespace shardfit
