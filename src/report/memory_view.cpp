// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/estimate_sections.hpp"
#include "report/memory_groups.hpp"
#include "report/numbers.hpp"

// Sample:
//        %     GiB  term
//     46.1   70.12  state
//     30.0   45.66    exp_avg
//    ------------
//    100.0  152.10  total

namespace shardfit::report {
namespace {

/// The place of a stage in words: which special parts it holds.
std::string contents(const StagePlan& plan, int stage) {
  bool embedding = false, head = false, vision = false;
  int mtp = 0;
  for (int v = 0; v < plan.vpp; ++v) {
    const Chunk& chunk = plan.at(stage, v);
    embedding |= chunk.embedding;
    head |= chunk.head;
    vision |= chunk.vision;
    mtp += chunk.mtp_layers;
  }
  std::string text;
  const auto add = [&text](const std::string& word) { text += (text.empty() ? "" : "+") + word; };
  if (vision) add("vision");
  if (embedding) add("embedding");
  if (head) add("head");
  if (mtp > 0) add(fmt::format("{} mtp", mtp));
  return text;
}

Bytes at_moment(const Estimate& estimate, int stage, MemoryMoment moment) {
  for (const StageMemory& row : estimate.memory)
    if (row.stage == stage && row.moment == moment) return row.ledger.allocated();
  return Bytes(0);
}

Row stage_row(const Estimate& estimate, const StageMemory& peak) {
  const bool planned = !estimate.plan.chunks.empty();
  Row row;
  row.cells = {count_cell(peak.stage),
               planned ? count_cell(estimate.plan.layers_on(peak.stage)) : Cell(),
               at_moment(estimate, peak.stage, MemoryMoment::between_steps),
               most_allocated(estimate, peak.stage)->ledger.allocated(),
               peak.ledger.total(),
               estimate.verdict.usable - peak.ledger.total(),
               text_cell(name_of(peak.moment)),
               planned ? Cell(contents(estimate.plan, peak.stage)) : Cell()};
  return row;
}

Row bill_row(std::string_view group, std::string_view term, Bytes bytes, Bytes total, RowKind kind, int depth) {
  Row row{{}, kind, depth};
  row.cells = {total.value ? Cell(bytes / total) : Cell(), bytes, text_cell(group), text_cell(term)};
  return row;
}

void add_group(Table& table, const MemoryLedger& ledger, MemoryGroup group) {
  struct Item {
    MemoryTerm term;
    Bytes bytes;
  };
  std::vector<Item> items;
  Bytes sum;
  for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i) {
    const MemoryTerm term = MemoryTerm(i);
    if (group_of(term) != group || ledger[term] == Bytes(0)) continue;
    items.push_back({term, ledger[term]});
    sum += ledger[term];
  }
  if (items.empty()) return;
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  const Bytes total = ledger.total();
  table.rows.push_back(bill_row(name_of(group), name_of(group), sum, total, RowKind::subtotal, 0));
  for (const Item& item : items)
    table.rows.push_back(bill_row(name_of(group), name_of(item.term), item.bytes, total, RowKind::data, 1));
}

}  // namespace

const StageMemory* fullest(const Estimate& estimate) {
  for (const StageMemory& row : estimate.memory)
    if (row.stage == estimate.verdict.stage && row.moment == estimate.verdict.moment) return &row;
  return nullptr;
}

const StageMemory* dearest_moment(const Estimate& estimate, int stage) {
  const StageMemory* best = nullptr;
  for (const StageMemory& row : estimate.memory)
    if (row.stage == stage && (!best || row.ledger.total() > best->ledger.total())) best = &row;
  return best;
}

Section stage_memory_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"stage", "stage", ColumnKind::count},
                   {"layers", "layers", ColumnKind::count},
                   {"static_allocated", "static", ColumnKind::bytes},
                   {"peak_allocated", "allocated", ColumnKind::bytes},
                   {"peak_memory", "device", ColumnKind::bytes},
                   {"margin", "margin", ColumnKind::bytes},
                   {"peak_moment", "peak at"},
                   {"holds", "also holds"}};
  std::vector<int> stages;
  for (const StageMemory& row : estimate.memory)
    if (std::find(stages.begin(), stages.end(), row.stage) == stages.end()) stages.push_back(row.stage);
  for (int stage : stages) table.rows.push_back(stage_row(estimate, *dearest_moment(estimate, stage)));
  Section section{"memory_by_stage", "Memory by pipeline stage, fullest rank of each", std::move(table), {}};
  section.notes.push_back(
      "static: allocated between steps; allocated: torch's peak, over all moments; device: with everything "
      "outside torch, at the moment beside it");
  return section;
}

Section memory_bill_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"share", "", ColumnKind::ratio},
                   {"size", "", ColumnKind::bytes},
                   {"group", "group", ColumnKind::text, 0, Shown::data_only},
                   {"term", "term"}};
  Section section{"memory", "Memory of the fullest rank", Table{}, {}};
  if (const StageMemory* row = fullest(estimate)) {
    for (std::size_t g = 0; g < kCount<MemoryGroup>; ++g) add_group(table, row->ledger, MemoryGroup(g));
    const Bytes total = row->ledger.total();
    table.rows.push_back(bill_row("", "total", total, total, RowKind::total, 0));
    section.title += fmt::format(": stage {}, {}", row->stage, name_of(row->moment));
  }
  section.body = std::move(table);
  return section;
}

Section memory_moments_section(const Estimate& estimate) {
  Table table;
  table.columns = {
      {"stage", "stage", ColumnKind::count}, {"moment", "moment"}, {"size", "", ColumnKind::bytes}, {"term", "term"}};
  for (const StageMemory& row : estimate.memory)
    for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i) {
      const MemoryTerm term = MemoryTerm(i);
      if (row.ledger[term] == Bytes(0)) continue;
      table.rows.push_back({{count_cell(row.stage), text_cell(name_of(row.moment)), row.ledger[term], text_cell(name_of(term))},
                            RowKind::data,
                            0});
    }
  return {"memory_moments", "Memory of every stage and moment", std::move(table), {}};
}

Section tensors_section(const Estimate& estimate) {
  Table table;
  table.columns = {{"stage", "stage", ColumnKind::count},
                   {"size", "", ColumnKind::bytes},
                   {"each", "each", ColumnKind::bytes},
                   {"layers_alive", "alive", ColumnKind::count},
                   {"term", "term"},
                   {"op", "operation"},
                   {"tensor", "tensor"}};
  std::vector<const TensorRow*> rows;
  for (const TensorRow& row : estimate.tensors) rows.push_back(&row);
  const auto size = [](const TensorRow* row) { return row->bytes_each.value * row->layers_alive; };
  std::stable_sort(rows.begin(), rows.end(), [&](const TensorRow* a, const TensorRow* b) {
    return a->stage != b->stage ? a->stage < b->stage : size(a) > size(b);
  });
  for (const TensorRow* row : rows)
    table.rows.push_back({{count_cell(row->stage), Bytes(size(row)), row->bytes_each, count_cell(row->layers_alive),
                           text_cell(name_of(row->term)), text_cell(row->op), text_cell(row->tensor)},
                          RowKind::data,
                          0});
  Section section{"tensors", "Kept tensors", std::move(table), {}};
  section.notes.push_back("alive: layers that hold one, times micro-batches in flight");
  return section;
}

}  // namespace shardfit::report
