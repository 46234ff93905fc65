// SPDX-License-Identifier: Apache-2.0
// Do the shapes of the operation lists add up to the published models? Every exact published count and every
// count by module that the model files state is met without difference. The files' counts are compared with,
// never computed from.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "block/blocks.hpp"
#include "block/parameter_count.hpp"
#include "io/load.hpp"
#include "shardfit/base/names.hpp"

using namespace shardfit;

namespace {

using Counts = std::map<std::string, std::int64_t>;

void add(Counts& counts, const std::string& scope, const block::OpList& ops) {
  for (const block::Op& op : ops)
    for (const block::Weight& w : op.weights) counts[scope + std::string(name_of(w.group))] += w.elements();
}

/// Elements by module group, as computed_params.groups names them.
Counts count_groups(const ModelSpec& model) {
  const block::Shapes shapes = block::undivided_shapes(model);
  const TextSpec& text = model.text;
  Counts counts;
  add(counts, "", block::embedding(text, shapes));
  for (const BlockRef& layer : text.layers) add(counts, "", block::decoder_block(text, layer, shapes));
  add(counts, "", block::head(text, shapes, !text.tie_word_embeddings));
  if (text.mtp)
    for (int depth = 0; depth < text.mtp->num_layers; ++depth)
      add(counts, "mtp.", block::mtp_layer(text, shapes, depth == 0 || !text.mtp->repeated_layer));
  if (model.vision) {
    add(counts, "", block::vision_ends(*model.vision, shapes, {}, {}));
    add(counts, "", block::vision_layers(*model.vision, shapes, shapes, {}, {}));
    add(counts, "", block::vision_projector(*model.vision, shapes, {}, {}));
  }
  return counts;
}

bool is_vision(const std::string& group) {
  return group == "vision_tower" || group == "vision_merger" || group == "deepstack_mergers";
}

struct Totals {
  std::int64_t text = 0, mtp = 0, vision = 0, text_buffers = 0, mtp_buffers = 0;
};

Totals sum(const Counts& counts) {
  Totals t;
  for (const auto& [group, n] : counts) {
    const bool mtp = group.rfind("mtp.", 0) == 0;
    (mtp ? t.mtp : is_vision(group) ? t.vision : t.text) += n;
    if (group.find("router_correction_bias") != std::string::npos) (mtp ? t.mtp_buffers : t.text_buffers) += n;
  }
  return t;
}

nlohmann::json read_file(const std::string& model) {
  std::ifstream file(std::string(SHARDFIT_SOURCE_DIR) + "/models/" + model + ".json");
  return nlohmann::json::parse(file);
}

/// What a published count of kind `of` should be; checkpoint_elements also counts how files store weights.
std::int64_t counted(const std::string& of, const Totals& t, const nlohmann::json& file) {
  if (of == "total_text") return t.text;
  if (of == "total_mtp") return t.mtp;
  if (of == "total_vision") return t.vision;
  if (of == "total_without_mtp") return t.text + t.vision;
  if (of == "total_with_mtp") return t.text + t.vision + t.mtp;
  if (of == "trainable_without_mtp") return t.text + t.vision - t.text_buffers;
  if (of == "trainable_with_mtp") return t.text + t.vision + t.mtp - t.text_buffers - t.mtp_buffers;
  if (of == "total_with_mtp_and_tables") {
    std::int64_t tables = 0;
    for (const auto& extra : file["checkpoint"]["extra_elements"]) tables += extra["value"].get<std::int64_t>();
    return t.text + t.vision + t.mtp + tables;
  }
  return -1;
}

}  // namespace

TEST_CASE("shapes add up to every stated count by module") {
  int models = 0;
  for (const std::string& name : io::list_models()) {
    CAPTURE(name);
    ++models;
    const nlohmann::json file = read_file(name);
    Counts ours = count_groups(io::load_model(name));
    Counts stated;
    for (const auto& [group, n] : file["computed_params"]["groups"].items()) stated[group] = n.get<std::int64_t>();
    for (const auto& [group, n] : stated) {
      CAPTURE(group);
      CHECK(ours[group] == n);
    }
    for (const auto& [group, n] : ours) {
      CAPTURE(group);
      CHECK((n == 0 || stated.count(group) == 1));
    }
  }
  CHECK(models == 47);
}

TEST_CASE("shapes add up to every exact published total") {
  int met = 0;
  for (const std::string& name : io::list_models()) {
    CAPTURE(name);
    const nlohmann::json file = read_file(name);
    const ModelSpec model = io::load_model(name);
    const Totals totals = sum(count_groups(model));
    for (const char* of : {"total_text", "total_mtp", "total_vision", "total_without_mtp", "total_with_mtp",
                           "trainable_without_mtp", "trainable_with_mtp"})
      CHECK(counted(of, totals, file) == file["computed_params"][of].get<std::int64_t>());
    CHECK(block::parameter_count(model).total == totals.text + totals.vision);
    for (const PublishedParams& published : model.exact_params) {
      CAPTURE(published.of);
      if (published.of == "checkpoint_elements") continue;  // how files pack weights is no property of training
      CHECK(counted(published.of, totals, file) == published.value);
      ++met;
    }
  }
  CHECK(met >= 20);
}

TEST_CASE("a token meets its share of the routed experts, and all else") {
  int with_experts = 0;
  for (const std::string& name : io::list_models()) {
    CAPTURE(name);
    const ModelSpec model = io::load_model(name);
    const block::ParameterCount count = block::parameter_count(model);
    Counts groups = count_groups(model);
    const std::int64_t routed = groups["routed_experts"];
    std::int64_t chosen = 0;
    for (const MlpSpec& mlp : model.text.mlps)
      if (const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind)) chosen = routed / moe->num_experts * moe->num_experts_per_tok;
    CHECK(count.active == count.total - routed + chosen);
    with_experts += routed > 0;
  }
  CHECK(with_experts > 20);
  // The names say it: A22B, A3B.
  CHECK(block::parameter_count(io::load_model("Qwen3-235B-A22B")).active / 1'000'000'000 == 22);
  CHECK(block::parameter_count(io::load_model("Qwen3-30B-A3B")).active / 1'000'000'000 == 3);
}

TEST_CASE("tensor-parallel, expert and context shares add up to the model") {
  for (const std::string& name : {std::string("Qwen3-VL-235B-A22B"), std::string("DeepSeek-V3"), std::string("gpt-oss-120b")}) {
    CAPTURE(name);
    const ModelSpec model = io::load_model(name);
    const block::Shapes whole = block::undivided_shapes(model);
    block::Shapes part = whole;
    part.tp = 4;
    part.ep = 8;
    part.etp = 2;
    part.sequence_parallel = true;
    const BlockRef layer = model.text.layers.back();
    std::int64_t expected = 0, joined = 0;
    for (const block::Op& op : block::decoder_block(model.text, layer, whole))
      for (const block::Weight& w : op.weights) expected += w.elements();
    for (const block::Op& op : block::decoder_block(model.text, layer, part))
      for (const block::Weight& w : op.weights)
        joined += w.elements() * (w.split == block::Split::tensor   ? part.tp
                                  : w.split == block::Split::expert ? part.ep * part.etp
                                                                    : 1);
    // Biases of fc2 are whole on every expert-tensor rank.
    const auto* moe = std::get_if<MoeMlpSpec>(&model.text.mlps[std::size_t(layer.mlp)].kind);
    const std::int64_t repeated = moe && moe->bias ? std::int64_t(moe->num_experts) * model.text.hidden_size : 0;
    CHECK(joined == expected + repeated * (part.etp - 1));
  }
}
