// SPDX-License-Identifier: Apache-2.0
#include "report/symbols_section.hpp"

#include "shardfit/spec/model_dims.hpp"

namespace shardfit::report {
namespace {

void add(Table& table, const char* symbol, std::int64_t value, const char* meaning) {
  table.rows.push_back({{count_cell(value), text_cell(symbol), text_cell(meaning)}, RowKind::data, 0});
}

void add_mlps(Table& table, const TextSpec& text) {
  for (const MlpSpec& mlp : text.mlps) {
    if (const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind)) {
      add(table, "experts", moe->num_experts, "routed experts of a layer");
      add(table, "topk", moe->num_experts_per_tok, "experts of a token");
      add(table, "f", moe->intermediate_size, "width of an expert");
    } else {
      add(table, "ffn", std::get<DenseMlpSpec>(mlp.kind).intermediate_size, "width of a dense MLP");
    }
  }
}

}  // namespace

Section symbols_section(const Job& job, const Estimate& estimate) {
  const TextSpec& text = job.model.text;
  const Layout& layout = estimate.layout;
  const std::int64_t tokens = std::int64_t(job.training.sequence_length) * layout.micro_batch_size / layout.cp;
  Table table;
  table.columns = {{"value", "value", ColumnKind::count}, {"symbol", "symbol"}, {"meaning", "meaning"}};
  add(table, "s", job.training.sequence_length, "tokens of a sequence");
  add(table, "b", layout.micro_batch_size, "sequences of a micro-batch");
  add(table, "N", tokens, "tokens of a micro-batch on a rank, s x b / cp");
  add(table, "h", text.hidden_size, "hidden size");
  add(table, "L", text.num_hidden_layers, "decoder layers");
  add(table, "V", padded_vocab(text.vocab_size, job.training.vocab_padding_multiple, layout.tp), "vocabulary, padded");
  add_mlps(table, text);
  add(table, "m", estimate.grid.microbatches, "micro-batches a step of one data-parallel replica");
  add(table, "tp", layout.tp, "tensor-parallel ranks");
  add(table, "cp", layout.cp, "context-parallel ranks");
  add(table, "pp", layout.pp, "pipeline stages");
  add(table, "dp", estimate.grid.dp, "data-parallel replicas");
  add(table, "ep", layout.ep, "expert-parallel ranks");
  add(table, "etp", layout.etp, "ranks that an expert is split over");
  add(table, "edp", estimate.grid.edp, "replicas of an expert");
  return {"symbols", "Letters of the formulas", std::move(table), {}};
}

}  // namespace shardfit::report
