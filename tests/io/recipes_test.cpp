// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "io/load.hpp"
#include "io/recipes.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/spec/model_dims.hpp"

using namespace shardfit;
using io::Json;
using io::RecipeUse;

namespace {

const char* kModel = "Nemotron-3-Super-120B-A12B";

Json scenario(const std::string& model, const std::string& hardware, Json training) {
  training["sequence_length"] = 4096;
  training["global_batch_size"] = 64;
  return {{"model", model}, {"hardware", hardware}, {"gpus", 64}, {"training", training}, {"layout", {{"tp", 1}}}};
}

Scenario parse(const Json& json) { return io::parse_scenario(json.dump(), "test.json"); }

}  // namespace

TEST_CASE("every published setting is of blocks that read, for hardware and models that ship") {
  const auto settings = io::load_recipes();
  REQUIRE(settings.size() >= 5);
  for (const io::RecipeSetting& s : settings) {
    CAPTURE(s.source);
    CHECK(!s.source.empty());
    Json training = s.blocks.value("training", Json::object());
    training["precision"] = s.precision;
    for (const std::string& model : s.models.empty() ? std::vector<std::string>{"Llama-3-8B"} : s.models)
      for (const std::string& hardware : s.hardware.empty() ? std::vector<std::string>{"gb200-nvl72"} : s.hardware) {
        Json json = scenario(model, hardware, training);
        for (const char* block : {"layout", "stack"})
          if (s.blocks.contains(block)) json[block].update(s.blocks[block]);
        if (json.contains("stack")) json["stack"]["profile"] = "megatron-bridge-perf";
        CHECK_NOTHROW(parse(json));
      }
  }
}

TEST_CASE("a setting is filled in whole, from its day on, and never over a stated field") {
  const auto settings = io::load_recipes();
  Json run = {{"training", {{"precision", "nvfp4"}}}};
  const Json& training = run["training"];
  CHECK(io::fill_from_recipes(settings, {kModel, "gb200-nvl72", "nvfp4", "2026-04-17"}, run).size() == 3);
  CHECK(training["num_layers_at_end_in_bf16"] == 14);
  CHECK(training["quant_recipe"]["out_proj"] == "mxfp8");

  Json early_run = {{"training", {{"precision", "nvfp4"}}}};
  const Json& early = early_run["training"];
  io::fill_from_recipes(settings, {kModel, "gb200-nvl72", "nvfp4", "2026-04-06"}, early_run);
  CHECK(!early.contains("num_layers_at_end_in_bf16"));
  CHECK(early["fp8_param_gather"] == false);  // no recipe gathered fp4 parameters then

  Json stated_run = {{"training", {{"precision", "nvfp4"}, {"first_last_layers_bf16", false}}}};
  const Json& stated = stated_run["training"];
  io::fill_from_recipes(settings, {kModel, "gb200-nvl72", "nvfp4", "2026-04-17"}, stated_run);
  CHECK(!stated.contains("num_layers_at_end_in_bf16"));

  Json other = {{"training", {{"precision", "mxfp8"}}}};
  CHECK(io::fill_from_recipes(settings, {kModel, "gb200-nvl72", "mxfp8", "2026-04-17"}, other).empty());
  CHECK(io::fill_from_recipes(settings, {"DeepSeek-V3", "b200-hgx", "mxfp8", "2026-07-01"}, other).empty());
  CHECK(io::fill_from_recipes(settings, {"DeepSeek-V3", "gb200-nvl72", "mxfp8", "2026-06-09"}, other).empty());
  CHECK(io::fill_from_recipes(settings, {"DeepSeek-V3", "gb200-nvl72", "mxfp8", ""}, other).empty());
  CHECK(io::fill_from_recipes(settings, {"DeepSeek-V3", "gb200-nvl72", "mxfp8", "2026-06-10"}, other).size() == 1);
}

TEST_CASE("a setting of several blocks is one: stating a field of any leaves it alone") {
  const auto settings = io::load_recipes();
  const RecipeUse use{"Qwen3-30B-A3B", "b300-hgx", "mxfp8", "2026-06"};
  Json run = {{"training", {{"precision", "mxfp8"}}}, {"layout", {{"tp", 1}}}};
  CHECK(io::fill_from_recipes(settings, use, run).size() == 1);
  CHECK(run["layout"]["cuda_graph"]["impl"] == "full_iteration");
  CHECK(run["layout"]["tp"] == 1);
  CHECK(run["stack"]["paged_stash"] == true);
  Json eager = {{"layout", {{"cuda_graph", {{"impl", "none"}}}}}};
  CHECK(io::fill_from_recipes(settings, use, eager).empty());
  CHECK(!eager.contains("stack"));
}

TEST_CASE("variants of a recipe are told apart by what the run states, never by who published it") {
  const auto settings = io::load_recipes();
  const auto filled = [&](RecipeUse use, Json stated = {}) {
    use.stated = std::move(stated);
    Json run = {{"training", {{"precision", use.precision}}}};
    io::fill_from_recipes(settings, use, run);
    return Json(run["training"]);
  };
  // The tutorial's runs are on four GPUs, and were published before fp4 parameters could be gathered.
  const Json tutorial = filled({"Llama-3-8B", "gb200-nvl72", "nvfp4", "", 4});
  CHECK(tutorial["num_layers_at_end_in_bf16"] == 4);
  CHECK(tutorial["fp8_param_gather"] == false);
  const Json today = filled({"Llama-3-8B", "gb200-nvl72", "nvfp4", "2026-08-22", 4});
  CHECK(today["num_layers_at_end_in_bf16"] == 4);
  CHECK(!today.contains("fp8_param_gather"));
  const Json benchmark = filled({"Llama-3-8B", "gb200-nvl72", "nvfp4", "2026-08-22", 8});
  CHECK(!benchmark.contains("num_layers_at_end_in_bf16"));
  CHECK(benchmark["fp8_attention"] == true);

  const Json graphs = {{"layout", {{"cuda_graph", {{"impl", "transformer_engine"}}}}}};
  CHECK(filled({"DeepSeek-V3", "gb200-nvl72", "mxfp8", "2026-08-11", 256})["fp8_output_proj"] == true);
  CHECK(!filled({"DeepSeek-V3", "gb200-nvl72", "mxfp8", "2026-08-11", 256}, graphs).contains("fp8_output_proj"));
  const Json fsdp = {{"layout", {{"sharding", "full"}, {"cuda_graph", {{"impl", "none"}}}}}};
  const Json sharded = filled({"DeepSeek-V3", "gb300-nvl72", "mxfp8", "2026-08-11", 64}, fsdp);
  CHECK(sharded["fp8_output_proj"] == true);
  CHECK(!sharded.contains("fp8_attention"));

  CHECK(filled({"Kimi-K2", "gb300-nvl72", "mxfp8", "2026-08-22", 256})["fp8_param_gather"] == false);
  const Json adam = {{"training", {{"optimizer", {{"kind", "adam"}}}}}};
  CHECK(!filled({"Kimi-K2", "gb300-nvl72", "mxfp8", "2026-08-22", 256}, adam).contains("fp8_param_gather"));
  CHECK(filled({"gpt-oss-20b", "b300-hgx", "mxfp8", "2026-08-22", 8})["fp8_param_gather"] == false);
  CHECK(!filled({"gpt-oss-20b", "gb200-nvl72", "mxfp8", "2026-06-22", 8}).contains("fp8_param_gather"));
  CHECK(filled({"DeepSeek-V3", "b200-hgx", "nvfp4", "2026-08-22", 256})["fp8_param_gather"] == false);
}

TEST_CASE("a precision of MTP where there is none, and sequence parallelism at tp 1, are told") {
  const auto told = [](const Json& json, const char* words) {
    int n = 0;
    for (const std::string& note : parse(json).assumptions) n += note.find(words) != std::string::npos;
    return n == 1;
  };
  const Json mtp = {{"precision", "mxfp8"}, {"quant_recipe", {{"mtp", "bf16"}}}};
  CHECK(told(scenario("Llama-3-8B", "gb200-nvl72", mtp), "no MTP layers"));
  CHECK_FALSE(told(scenario("DeepSeek-V3", "gb200-nvl72", mtp), "no MTP layers"));
  Json json = scenario("Llama-3-8B", "gb200-nvl72", {{"precision", "bf16"}});
  CHECK_FALSE(told(json, "does nothing at tp 1"));
  json["layout"]["sequence_parallel"] = true;
  CHECK(told(json, "does nothing at tp 1"));
  json["layout"]["tp"] = 2;
  CHECK_FALSE(told(json, "does nothing at tp 1"));
}

TEST_CASE("a scenario is told what the published recipe sets and it does not state") {
  const auto hints = [](const Json& json) {
    int n = 0;
    for (const std::string& note : parse(json).assumptions) n += note.find("published recipe") != std::string::npos;
    return n;
  };
  CHECK(hints(scenario("DeepSeek-V3", "gb200-nvl72", {{"precision", "mxfp8"}})) == 1);
  CHECK(hints(scenario("DeepSeek-V3", "gb200-nvl72", {{"precision", "mxfp8"}, {"fp8_output_proj", false}})) == 0);
  CHECK(hints(scenario("DeepSeek-V3", "gb200-nvl72", {{"precision", "bf16"}})) == 0);
}

TEST_CASE("layers in bf16 and precisions of modules are read, and refused where they mean nothing") {
  const Scenario s = parse(scenario(kModel, "gb200-nvl72",
                                    {{"precision", "nvfp4"},
                                     {"first_last_layers_bf16", true},
                                     {"num_layers_at_start_in_bf16", 0},
                                     {"num_layers_at_end_in_bf16", 14},
                                     {"quant_recipe", {{"out_proj", "mxfp8"}, {"mtp", "bf16"}}}}));
  const TrainingSpec& t = s.job.training;
  const int layers = int(s.job.model.text.layers.size());
  CHECK(!keeps_layer_in_bf16(t, 0, layers));
  CHECK(!keeps_layer_in_bf16(t, layers - 15, layers));
  CHECK(keeps_layer_in_bf16(t, layers - 14, layers));
  CHECK(t.quant_recipe.modules[LinearModule::out_proj] == Precision::mxfp8);
  CHECK(t.quant_recipe.mtp == Precision::bf16);

  const auto refused = [](Json training) {
    CHECK_THROWS_AS(parse(scenario("Llama-3-8B", "gb200-nvl72", std::move(training))), InputError);
  };
  refused({{"precision", "mxfp8"}, {"num_layers_at_end_in_bf16", 4}});
  refused({{"precision", "bf16"}, {"quant_recipe", {{"linear_qkv", "bf16"}}}});
  refused({{"precision", "mxfp8"}, {"quant_recipe", {{"linear_qvk", "bf16"}}}});
  refused({{"precision", "mxfp8"}, {"quant_recipe", {{"linear_qkv", "fp8_delayed"}}}});
  refused({{"precision", "mxfp8"}, {"quant_recipe", {{"linear_qkv", "fp16"}}}});
}
