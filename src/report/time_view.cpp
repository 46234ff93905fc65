// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/estimate_sections.hpp"

// Sample:
//       %  time s  term                from start to end of the step
//    41.2   1.320  gemm                #############
//    20.1   0.644  experts                          ######

namespace shardfit::report {
namespace {

constexpr int kBarWidth = 32;   // characters of the whole step, to fit an 80-column terminal beside the numbers

/// A bar from `start` to `end`, both fractions of the step; at least one mark, so that nothing vanishes.
std::string bar(double start, double end) {
  const int from = std::clamp(int(std::floor(start * kBarWidth)), 0, kBarWidth - 1);
  const int to = std::clamp(int(std::lround(end * kBarWidth)), from + 1, kBarWidth);
  return std::string(std::size_t(from), ' ') + std::string(std::size_t(to - from), '#');
}

}  // namespace

Section time_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"share", "", ColumnKind::ratio},
                   {"time", "time", ColumnKind::seconds},
                   {"term", "term"},
                   {"bar", "from start to end of the step", ColumnKind::text, 0, Shown::table_only}};
  const Seconds total = estimate.time.total();
  Seconds start;
  for (std::size_t i = 0; i < kCount<TimeTerm>; ++i) {
    const Seconds time = estimate.time.rows[TimeTerm(i)];
    if (time == Seconds(0)) continue;
    const bool known = total > Seconds(0);
    table.rows.push_back({{known ? Cell(time / total) : Cell(), time, text_cell(name_of(TimeTerm(i))),
                           known ? bar(start / total, (start + time) / total) : std::string()}, RowKind::data, 0});
    start += time;
  }
  table.rows.push_back({{total > Seconds(0) ? Cell(1.0) : Cell(), total, text_cell("total"), text_cell("")}, RowKind::total, 0});
  Section section{"time", "Step time", std::move(table), {}};
  section.notes.push_back("exposed time only: what hides behind other work is in no row");
  return section;
}

Section stage_time_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"stage", "stage", ColumnKind::count},
                   {"forward", "forward", ColumnKind::seconds},
                   {"backward", "backward", ColumnKind::seconds},
                   {"host_forward", "host forward", ColumnKind::seconds},
                   {"host_backward", "host backward", ColumnKind::seconds}};
  for (const StageTime& stage : estimate.stages)
    table.rows.push_back({{count_cell(stage.stage), Seconds(stage.forward_s), Seconds(stage.backward_s),
                           Seconds(stage.host_forward_s), Seconds(stage.host_backward_s)}, RowKind::data, 0});
  return {"stage_times", "One micro-batch on each stage", std::move(table), {}};
}

Section modules_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"stage", "stage", ColumnKind::count},
                   {"module", "module"},
                   {"layers", "layers", ColumnKind::count},
                   {"parameters", "parameters", ColumnKind::count},
                   {"forward", "forward", ColumnKind::seconds},
                   {"backward", "backward", ColumnKind::seconds},
                   {"saved", "saved", ColumnKind::bytes}};
  for (const ModuleRow& row : estimate.modules)
    table.rows.push_back({{count_cell(row.stage), text_cell(row.module), count_cell(row.layers), count_cell(row.parameters),
                           Seconds(row.forward_s), Seconds(row.backward_s), row.saved}, RowKind::data, 0});
  Section section{"modules", "Parts of the model, one micro-batch", std::move(table), {}};
  section.notes.push_back("all layers of the part on the stage; parameters: on the rank");
  return section;
}

}  // namespace shardfit::report
