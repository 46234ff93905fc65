// SPDX-License-Identifier: Apache-2.0
#include "report/list_view.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "block/parameter_count.hpp"
#include "estimate/describe.hpp"
#include "report/memory_groups.hpp"
#include "shardfit/layout/rules.hpp"

namespace shardfit {
namespace {

Document listing(const char* key, std::string title, Table table, std::string summary) {
  Document document;
  document.view = "list";
  document.sections.push_back({key, std::move(title), std::move(table), {}});
  document.summary = std::move(summary);
  return document;
}

/// "gqa, moe 128 x 8": what the decoder's layers are made of.
std::string mlps_text(const TextSpec& text) {
  std::vector<std::string> parts;  // kinds that differ in what is not shown stand once
  for (const MlpSpec& mlp : text.mlps) {
    const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind);
    std::string part = moe ? fmt::format("{} experts, {} a token", moe->num_experts, moe->num_experts_per_tok) : "dense";
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Row model_row(const ModelSpec& model) {
  const block::ParameterCount parameters = block::parameter_count(model);
  return {{text_cell(model.name), text_cell(model.family), count_cell(model.text.num_hidden_layers),
           count_cell(model.text.hidden_size), count_cell(model.text.vocab_size), Cell(model.vision.has_value()),
           count_cell(parameters.total), count_cell(parameters.active), Cell(mlps_text(model.text))},
          RowKind::data,
          0};
}

Row hardware_row(const HardwareSpec& cluster) {
  return {
      {text_cell(cluster.name), text_cell(cluster.gpu.name), cluster.gpu.peak_tflops[Math::bf16].value,
       cluster.gpu.memory_usable_gib.value, cluster.gpu.hbm_tb_per_s.value, count_cell(cluster.node.gpus),
       count_cell(cluster.fabric.nvlink_domain_gpus), cluster.fabric.nvlink_gb_per_s.value, cluster.fabric.nic_gb_per_s.value},
      RowKind::data,
      0};
}

template <class Term>
void add_term(Table& table, const char* of, std::string_view group, Term term) {
  const TermWords& words = words_of(term);
  const auto cell = [](const char* text) { return text && *text ? text_cell(text) : Cell(); };
  table.rows.push_back({{text_cell(name_of(term)), text_cell(of), text_cell(group), cell(words.what), cell(words.formula),
                         cell(words.source), cell(words.ignores)},
                        RowKind::data,
                        0});
}

}  // namespace

Document models_document(const std::vector<ModelSpec>& models) {
  Table table;
  table.columns = {{"model", "model"},
                   {"family", "family"},
                   {"layers", "layers", ColumnKind::count},
                   {"hidden_size", "hidden", ColumnKind::count},
                   {"vocab_size", "vocabulary", ColumnKind::count},
                   {"vision", "vision", ColumnKind::flag},
                   {"parameters", "parameters", ColumnKind::count},
                   {"active_parameters", "active", ColumnKind::count},
                   {"mlps", "MLPs"}};
  for (const ModelSpec& model : models) table.rows.push_back(model_row(model));
  return listing("models", "Models", std::move(table), fmt::format("{} models; add one as models/NAME.json", models.size()));
}

Document hardware_document(const std::vector<HardwareSpec>& clusters) {
  Table table;
  table.columns = {{"hardware", "hardware"},
                   {"gpu", "GPU"},
                   {"peak_bf16_tflops", "bf16 TFLOP/s", ColumnKind::number, 0},
                   {"usable_memory_gib", "usable GiB", ColumnKind::number, 1},
                   {"hbm_tb_per_s", "HBM TB/s", ColumnKind::number, 2},
                   {"gpus_per_node", "GPUs/node", ColumnKind::count},
                   {"nvlink_domain_gpus", "GPUs/domain", ColumnKind::count},
                   {"nvlink_gb_per_s", "NVLink GB/s", ColumnKind::number, 0},
                   {"nic_gb_per_s", "NIC GB/s", ColumnKind::number, 0}};
  for (const HardwareSpec& cluster : clusters) table.rows.push_back(hardware_row(cluster));
  return listing("hardware", "Hardware", std::move(table),
                 "`shardfit topo NAME --gpus N` shows a cluster's links and every figure's source");
}

Document stacks_document(const std::vector<StackProfile>& stacks) {
  Table table;
  table.columns = {
      {"stack", "stack"}, {"date", "date"}, {"framework", "framework"}, {"entry_point", "entry point"}, {"source", "source"}};
  for (const StackProfile& stack : stacks)
    table.rows.push_back({{text_cell(stack.name), text_cell(stack.date), text_cell(name_of(stack.framework)),
                           text_cell(name_of(stack.entry_point)), text_cell(stack.source)},
                          RowKind::data,
                          0});
  return listing("stacks", "Software profiles", std::move(table), "");
}

Document scenarios_document(const std::vector<std::string>& names) {
  Table table;
  table.columns = {{"scenario", "scenario"}};
  for (const std::string& name : names) table.rows.push_back({{text_cell(name)}, RowKind::data, 0});
  return listing("scenarios", "Scenarios", std::move(table), "");
}

Document workloads_document(const std::vector<WorkloadListing>& workloads) {
  Table table;
  table.columns = {{"workload", "workload"},
                   {"images_per_sample", "images", ColumnKind::number, 1},
                   {"description", "a sample"},
                   {"source", "source"}};
  for (const WorkloadListing& w : workloads)
    table.rows.push_back(
        {{text_cell(w.name), w.images_per_sample, text_cell(w.description), text_cell(w.source)}, RowKind::data, 0});
  return listing("workloads", "Workloads", std::move(table),
                 "`training.vision` of a scenario names one; its keys may be overridden");
}

Document recipes_document(const std::vector<RecipeListing>& settings) {
  Table table;
  table.cards = true;
  table.columns = {{"settings", "sets"},     {"models", "models"}, {"precision", "precision"},
                   {"hardware", "hardware"}, {"gpus", "GPUs"},     {"where", "unless stated otherwise"},
                   {"from", "from"},         {"to", "before"},     {"source", "source"},
                   {"recipe", "recipes"}};
  const auto cell = [](const std::string& text) { return text.empty() ? Cell() : text_cell(text); };
  for (const RecipeListing& s : settings)
    table.rows.push_back({{text_cell(s.settings), cell(s.models), cell(s.precision), cell(s.hardware), cell(s.gpus),
                           cell(s.where), cell(s.from), cell(s.to), cell(s.source), cell(s.recipe)},
                          RowKind::data,
                          0});
  return listing("recipes", "What published recipes set", std::move(table),
                 "measured runs of benchmark recipes are read with these; a scenario is told of those it does not state");
}

Document rules_document() {
  Table table;
  table.columns = {{"rule", "rule"},
                   {"section", "section"},
                   {"condition", "must hold"},
                   {"got", "got", ColumnKind::text, 0, Shown::data_only},
                   {"need", "need", ColumnKind::text, 0, Shown::data_only},
                   {"asserted_by", "asserted by"},
                   {"pointer", "see"}};
  for (const RuleInfo& rule : rules())
    table.rows.push_back({{text_cell(rule.code), text_cell(rule.section), text_cell(rule.condition), text_cell(rule.got),
                           text_cell(rule.need), text_cell(name_of(rule.asserted_by)), text_cell(rule.pointer)},
                          RowKind::data,
                          0});
  const std::string summary = fmt::format("{} rules", table.rows.size());
  return listing("rules", "Rules that a layout must pass", std::move(table), summary);
}

Document terms_document() {
  Table table;
  table.cards = true;
  table.columns = {{"term", "term"},       {"of", "of"},         {"group", "group"},    {"what", "what"},
                   {"formula", "formula"}, {"source", "source"}, {"ignores", "ignores"}};
  for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i)
    add_term(table, "memory", name_of(report::group_of(MemoryTerm(i))), MemoryTerm(i));
  for (std::size_t i = 0; i < kCount<TimeTerm>; ++i) add_term(table, "time", "", TimeTerm(i));
  return listing("terms", "Terms of memory and time", std::move(table), "");
}

}  // namespace shardfit
