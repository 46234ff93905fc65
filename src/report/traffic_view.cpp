// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/estimate_sections.hpp"

namespace shardfit::report {
namespace {

constexpr const char* kMeaning =
    "payload: of the largest call; NVLink, network: sent a step; busy: a step, if nothing hid it; bound by: the link "
    "that most of a call's time goes to, or latency";

Bytes rounded(double n) { return Bytes(std::llround(n)); }

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {{"stage", "stage", ColumnKind::count},
                                          {"group", "group"},
                                          {"collective", "collective"},
                                          {"phase", "phase"},
                                          {"calls_per_step", "calls", ColumnKind::number, 0},
                                          {"payload", "payload", ColumnKind::bytes},
                                          {"nvlink_sent", "NVLink", ColumnKind::bytes},
                                          {"network_sent", "network", ColumnKind::bytes},
                                          {"host_copied", "host", ColumnKind::bytes, 1, Shown::data_only},
                                          {"per_microbatch", "micro-batch", ColumnKind::bytes, 1, Shown::data_only},
                                          {"busy_time", "busy", ColumnKind::seconds},
                                          {"bound_by", "bound by"},
                                          {"hides_behind", "hides behind"},
                                          {"what", "of"},
                                          {"tensor", "tensor"}};
  return all;
}

Row row_of(const TrafficRow& row, std::string what) {
  return {{count_cell(row.stage), text_cell(row.group), text_cell(row.collective), text_cell(row.phase), row.calls_per_step,
           rounded(row.payload_bytes), rounded(row.nvlink_bytes_per_step), rounded(row.network_bytes_per_step),
           rounded(row.host_bytes_per_step), rounded(row.bytes_per_microbatch), Seconds(row.busy_s), text_cell(row.bound_by),
           text_cell(row.hides_behind), Cell(std::move(what)), text_cell(row.tensor)},
          RowKind::data,
          0};
}

int busiest_stage(const Estimate& estimate) {
  std::map<int, double> busy;
  for (const TrafficRow& row : estimate.traffic) busy[row.stage] += row.busy_s;
  const auto most = std::max_element(busy.begin(), busy.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == busy.end() ? 0 : most->first;
}

bool alike(const TrafficRow& a, const TrafficRow& b) {
  return a.group == b.group && a.collective == b.collective && a.phase == b.phase && a.hides_behind == b.hides_behind &&
         a.bound_by == b.bound_by;
}

/// Calls of one kind added up.
struct Sum {
  TrafficRow row;
  int operations = 0;
};

void add_to(std::vector<Sum>& sums, const TrafficRow& row) {
  const auto same = std::find_if(sums.begin(), sums.end(), [&](const Sum& sum) { return alike(sum.row, row); });
  if (same == sums.end()) {
    sums.push_back({row, 1});
    return;
  }
  TrafficRow& total = same->row;
  total.calls_per_step += row.calls_per_step;
  total.payload_bytes = std::max(total.payload_bytes, row.payload_bytes);
  total.nvlink_bytes_per_step += row.nvlink_bytes_per_step;
  total.network_bytes_per_step += row.network_bytes_per_step;
  total.host_bytes_per_step += row.host_bytes_per_step;
  total.bytes_per_microbatch += row.bytes_per_microbatch;
  total.busy_s += row.busy_s;
  total.tensor = {};
  ++same->operations;
}

}  // namespace

Section traffic_section(const Estimate& estimate) {
  const int stage = busiest_stage(estimate);
  std::vector<Sum> sums;
  for (const TrafficRow& row : estimate.traffic)
    if (row.stage == stage) add_to(sums, row);
  Table table{columns(), {}, false};
  for (const Sum& sum : sums)
    table.rows.push_back(
        row_of(sum.row, sum.operations == 1 ? std::string(sum.row.what) : fmt::format("{} operations", sum.operations)));
  Section section{"traffic", fmt::format("Traffic of one rank of stage {}, which sends longest", stage), std::move(table), {}};
  section.notes.push_back(kMeaning);
  if (estimate.dispatcher_sms > 0)
    section.notes.push_back(fmt::format("the expert library holds {} SMs while it runs", estimate.dispatcher_sms));
  return section;
}

Section collectives_section(const Estimate& estimate) {
  Table table{columns(), {}, false};
  for (const TrafficRow& row : estimate.traffic) table.rows.push_back(row_of(row, std::string(row.what)));
  Section section{"collectives", "Collectives of one rank of each stage", std::move(table), {}};
  section.notes.push_back(kMeaning);
  return section;
}

}  // namespace shardfit::report
