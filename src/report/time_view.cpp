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

constexpr int kBarWidth = 32;  // characters of the whole step, to fit an 80-column terminal beside the numbers

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
                           known ? bar(start / total, (start + time) / total) : std::string()},
                          RowKind::data,
                          0});
    start += time;
  }
  table.rows.push_back(
      {{total > Seconds(0) ? Cell(1.0) : Cell(), total, text_cell("total"), text_cell("")}, RowKind::total, 0});
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
                           Seconds(stage.host_forward_s), Seconds(stage.host_backward_s)},
                          RowKind::data,
                          0});
  return {"stage_times", "One micro-batch on each stage", std::move(table), {}};
}

namespace {

/// Sums over the modules of one part or stage.
struct ModuleSum {
  std::int64_t parameters = 0;
  double forward = 0, backward = 0, rerun = 0;
  Bytes saved, state;
  void add(const ModuleRow& row) {
    parameters += row.parameters;
    forward += row.forward_s;
    backward += row.backward_s;
    rerun += row.rerun_s;
    saved += row.saved;
    state += row.state;
  }
  Row row(int stage, std::string_view name, RowKind kind) const {
    return {{count_cell(stage),
             text_cell(name),
             text_cell(name),
             {},
             count_cell(parameters),
             Seconds(forward),
             Seconds(backward),
             Seconds(rerun),
             saved,
             state},
            kind,
            0};
  }
};

}  // namespace

Section modules_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"stage", "stage", ColumnKind::count},
                   {"part", "part", ColumnKind::text, 0, Shown::data_only},
                   {"module", "module"},
                   {"layers", "layers", ColumnKind::count},
                   {"parameters", "parameters", ColumnKind::count},
                   {"forward", "forward", ColumnKind::seconds},
                   {"backward", "backward", ColumnKind::seconds},
                   {"recompute", "recompute", ColumnKind::seconds},
                   {"saved", "saved", ColumnKind::bytes},
                   {"state", "state", ColumnKind::bytes}};
  const std::vector<ModuleRow>& rows = estimate.modules;
  ModuleSum stage;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ModuleRow& row = rows[i];
    const bool opens = i == 0 || rows[i - 1].stage != row.stage || rows[i - 1].part != row.part;
    if (opens) {
      ModuleSum part;
      for (std::size_t j = i; j < rows.size() && rows[j].stage == row.stage && rows[j].part == row.part; ++j) part.add(rows[j]);
      table.rows.push_back(part.row(row.stage, row.part, RowKind::subtotal));
    }
    stage.add(row);
    table.rows.push_back(
        {{count_cell(row.stage), text_cell(row.part), text_cell(row.module), count_cell(row.layers), count_cell(row.parameters),
          Seconds(row.forward_s), Seconds(row.backward_s), Seconds(row.rerun_s), row.saved, row.state},
         RowKind::data,
         1});
    if (i + 1 < rows.size() && rows[i + 1].stage == row.stage) continue;
    table.rows.push_back(stage.row(row.stage, "total", RowKind::total));
    stage = {};
  }
  Section section{"modules", "Parts of the model, one micro-batch", std::move(table), {}};
  section.notes.push_back(
      "all layers of the module on the stage; parameters and state (weights, gradients, optimizer): of the rank; saved: kept "
      "from forward to backward");
  section.notes.push_back("device time; launches and waits for the slowest rank are rows of the step (--time)");
  return section;
}

}  // namespace shardfit::report
