// SPDX-License-Identifier: Apache-2.0
#include "report/search_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/layout_fields.hpp"
#include "report/numbers.hpp"
#include "shardfit/report/views.hpp"

// Sample:
//   Near-ties: 212 layouts within 5 % of the best
//     axis  best  share of it  values  which
//     tp    1          100 %        1  1
//     vpp   4           46 %        3  4 (46 %), 2 (31 %), 1 (23 %)

namespace shardfit::report {
namespace {

constexpr std::size_t kValuesNamed = 4;  // of an axis, in one line

/// "4 (46 %), 2 (31 %), and 3 more", most frequent first.
std::string values_text(const NearTies::Axis& axis, std::uint64_t all) {
  std::vector<NearTies::Value> values = axis.values;
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < kValuesNamed; ++i)
    text += fmt::format("{}{} ({})", i ? ", " : "", axis_text(axis.axis, values[i].layout),
                        percent(double(values[i].count) / double(all), 0));
  if (values.size() > kValuesNamed) text += fmt::format(", and {} more", values.size() - kValuesNamed);
  return text;
}

std::string ties_note(const NearTies& ties) {
  std::string common, free;
  for (const NearTies::Axis& axis : ties.axes) {
    const std::string name(name_of(axis.axis));
    if (axis.values.size() == 1)
      common += (common.empty() ? "" : ", ") + name + " " + axis_text(axis.axis, axis.values[0].layout);
    else
      free += (free.empty() ? "" : ", ") + name;
  }
  if (ties.count < 2) return "no other layout is within the error band of the best";
  return fmt::format("{}; the model cannot tell them apart, so the choice among them is free{}",
                     common.empty() ? "they share no value of an axis" : "all have " + common,
                     free.empty() ? "" : ": they differ in " + free);
}

}  // namespace

Section near_ties_section(const NearTies& ties) {
  Table table;
  table.columns = {{"axis", "axis"},
                   {"best", "best has"},
                   {"share", "so have", ColumnKind::ratio, 0},
                   {"values", "values", ColumnKind::count},
                   {"which", "which"}};
  for (const NearTies::Axis& axis : ties.axes) {
    const NearTies::Value& best = axis.values.front();
    Row row;
    row.cells = {text_cell(name_of(axis.axis)), Cell(axis_text(axis.axis, best.layout)),
                 Cell(double(best.count) / double(ties.count)), count_cell(std::int64_t(axis.values.size())),
                 Cell(values_text(axis, ties.count))};
    table.rows.push_back(std::move(row));
  }
  const std::string title = ties.count == 0 ? "Near-ties"
                            : ties.count == 1
                                ? fmt::format("Near-ties: no other layout within {} of the best", percent(ties.band, 0))
                                : fmt::format("Near-ties: {}{} layouts within {} of the best", ties.at_least ? "at least " : "",
                                              grouped(std::int64_t(ties.count)), percent(ties.band, 0));
  Section section{"near_ties", title, std::move(table), {}};
  if (ties.count == 0) section.notes.push_back("the objective has no error band, or nothing fits");
  if (ties.count > 0) {
    section.notes.push_back(ties_note(ties));
    section.notes.push_back(fmt::format("{}: one sigma of the step time, {}", percent(ties.band, 0), ties.reason));
  }
  return section;
}

Section sensitivity_section(const Study& study, const SweepResult& result) {
  Table table;
  table.columns = {{"rank", "#", ColumnKind::count},
                   {"axis", "axis"},
                   {"from", "from"},
                   {"to", "to"},
                   {"step_time_change", "step time", ColumnKind::ratio, 1},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"outcome", "outcome"},
                   {"layout_id", "layout id", ColumnKind::text, 0, Shown::data_only}};
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const Layout from = study.layout_of(result.top[i].index);
    for (const AxisStep& step : result.steps[i]) {
      Row row;
      row.cells = {count_cell(std::int64_t(i) + 1),
                   text_cell(name_of(step.axis)),
                   Cell(axis_text(step.axis, from)),
                   Cell(axis_text(step.axis, step.layout)),
                   step.refused ? Cell() : Cell(step.loss),
                   step.refused ? Cell() : Cell(step.quick.peak),
                   Cell(step.refused      ? violation_text(*step.refused)
                        : step.quick.fits ? std::string("fits")
                                          : std::string("does not fit")),
                   Cell(layout_id(step.layout))};
      table.rows.push_back(std::move(row));
    }
  }
  return {"sensitivity",
          "One axis moved one step; others as they are",
          std::move(table),
          {"an axis without an order (sharding, recompute, ...) moves to the other value that loses least, split to the most "
           "even one too"}};
}

Section more_memory_section(const Study& study, const SweepResult& result) {
  Table table;
  table.columns = {{"more_memory", "more memory", ColumnKind::ratio, 0},
                   {"better_layout", "better layout", ColumnKind::flag},
                   {"gain", "gain", ColumnKind::ratio, 1},
                   {"tokens_per_s_per_gpu", "tokens/s/GPU", ColumnKind::number, 1},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"layout_id", "layout id"}};
  for (const WithMoreMemory& w : result.with_more_memory) {
    Row row;
    row.cells = {Cell(w.more), Cell(w.best.has_value()), Cell(), Cell(), Cell(), Cell()};
    if (w.best) {
      row.cells[2] = Cell(w.gain);
      row.cells[3] = Cell(w.best->quick.tokens_per_s_per_gpu);
      row.cells[4] = Cell(w.best->quick.peak);
      row.cells[5] = Cell(layout_id(study.layout_of(w.best->index)));
    }
    table.rows.push_back(std::move(row));
  }
  return {"more_memory", "Would more device memory make a better layout feasible?", std::move(table), {}};
}

}  // namespace shardfit::report
