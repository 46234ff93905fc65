// SPDX-License-Identifier: Apache-2.0
#include "report/layout_fields.hpp"

#include <array>

#include "report/layout_text.hpp"
#include "report/numbers.hpp"

namespace shardfit::report {
namespace {

using L = const Layout&;
using G = const GridSizes&;
constexpr ColumnKind kCountKind = ColumnKind::count;
constexpr ColumnKind kTextKind = ColumnKind::text;

constexpr std::array<LayoutField, 26> kFields = {{
    {"tp", "tp", kCountKind, true, [](L l, G) { return count_cell(l.tp); }},
    {"cp", "cp", kCountKind, true, [](L l, G) { return count_cell(l.cp); }},
    {"pp", "pp", kCountKind, true, [](L l, G) { return count_cell(l.pp); }},
    {"vpp", "vpp", kCountKind, true, [](L l, G) { return count_cell(l.vpp); }},
    {"ep", "ep", kCountKind, true, [](L l, G) { return count_cell(l.ep); }},
    {"etp", "etp", kCountKind, true, [](L l, G) { return count_cell(l.etp); }},
    {"dp", "dp", kCountKind, true, [](L, G g) { return count_cell(g.dp); }},
    {"micro_batch_size", "mbs", kCountKind, true, [](L l, G) { return count_cell(l.micro_batch_size); }},
    {"edp", "edp", kCountKind, false, [](L, G g) { return count_cell(g.edp); }},
    {"microbatches", "micro-batches", kCountKind, false, [](L, G g) { return count_cell(g.microbatches); }},
    {"sequence_parallel", "sp", ColumnKind::flag, false, [](L l, G) { return Cell(l.sequence_parallel); }},
    {"sharding", "sharding", kTextKind, false, [](L l, G) { return text_cell(name_of(l.sharding)); }},
    {"optimizer_instances", "instances", kCountKind, false, [](L l, G) { return count_cell(l.optimizer_instances); }},
    {"fsdp_double_buffer", "double buffer", ColumnKind::flag, false, [](L l, G) { return Cell(l.fsdp_double_buffer); }},
    {"use_tp_pp_dp_mapping", "pp before dp", ColumnKind::flag, false, [](L l, G) { return Cell(l.use_tp_pp_dp_mapping); }},
    {"recompute", "recompute", kTextKind, false, [](L l, G) { return Cell(recompute_text(l.recompute)); }},
    {"pipeline_split", "split", kTextKind, false, [](L l, G) { return Cell(split_text(l.split)); }},
    {"microbatch_group_size", "group", kCountKind, false, [](L l, G) { return count_cell(l.microbatch_group_size); }},
    {"dispatcher", "dispatcher", kTextKind, false, [](L l, G) { return text_cell(name_of(l.dispatcher)); }},
    {"dispatcher_sms", "SMs", kCountKind, false, [](L l, G) { return count_cell(l.dispatcher_sms); }},
    {"cp_comm_type", "cp comm", kTextKind, false, [](L l, G) { return text_cell(name_of(l.cp_comm_type)); }},
    {"cuda_graph", "cuda graph", kTextKind, false, [](L l, G) { return Cell(cuda_graph_text(l.cuda_graph)); }},
    {"expert_overlap", "expert overlap", ColumnKind::flag, false, [](L l, G) { return Cell(l.overlap.expert_alltoall); }},
    {"overlap", "overlap", kTextKind, false, [](L l, G) { return Cell(overlap_text(l.overlap)); }},
    {"optimizer_offload", "optimizer offload", ColumnKind::ratio, false,
     [](L l, G) { return Cell(l.offload.optimizer_fraction); }},
    {"offload", "offload", kTextKind, false, [](L l, G) { return Cell(offload_text(l.offload)); }},
}};

}  // namespace

std::span<const LayoutField> layout_fields() { return kFields; }

bool worth_saying(const LayoutField& field, const Cell& value) {
  const std::string_view key = field.key;
  if (key == "sharding" || key == "recompute") return true;
  return value != field.read(Layout{}, GridSizes{});
}

std::string axis_text(LayoutAxis axis, const Layout& layout) {
  std::string_view key = name_of(axis);
  if (axis == LayoutAxis::split) key = "pipeline_split";
  if (axis == LayoutAxis::expert_overlap) key = "expert_overlap";
  for (const LayoutField& field : kFields) {
    if (field.key != key) continue;
    const Cell cell = field.read(layout, GridSizes{});
    if (const auto* on = std::get_if<bool>(&cell)) return *on ? "true" : "false";
    return with_unit(column_of(field), cell);
  }
  return "-";
}

Column column_of(const LayoutField& field) { return {field.key, field.title, field.kind, 0}; }

}  // namespace shardfit::report
