// SPDX-License-Identifier: Apache-2.0
#include "io/measured_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "io/measured_profile.hpp"
#include "io/task_words.hpp"
#include "shardfit/layout/stage_plan.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::io {
namespace {

using Notes = std::vector<std::string>;

/// "optimizer_cpu_offload fraction=0.64": the fraction, or 1 where words of optimizer offload state none.
double fraction_in(const std::string& words) {
  const auto at = words.find("fraction=");
  return at == std::string::npos ? 1 : std::strtod(words.c_str() + at + 9, nullptr);
}

/// Takes out of the list at `key` what `known` refuses; `what` says in the notes what that means.
template <class Known>
void keep_known(Json& block, const char* key, Known known, const char* what, Notes& notes) {
  if (!block.is_object() || !block.contains(key) || !block[key].is_array()) return;
  Json kept = Json::array();
  for (const Json& item : block[key]) {
    if (item.is_string() && known(item.get<std::string>()))
      kept.push_back(item);
    else
      notes.push_back(fmt::format(fmt::runtime(what), item.dump()));
  }
  block[key] = kept;
}

void read_offload_words(Json& layout, Notes& notes) {
  if (!layout.contains("offload")) return;
  Json& offload = layout["offload"];
  if (offload.is_string()) {
    const std::string words = offload.get<std::string>();
    offload = Json::object();
    offload[mentions(words, "optimizer") ? "optimizer" : "activation"] = words;
  }
  if (!offload.is_object()) return;
  if (const std::string words = text_of(offload, "optimizer"); !words.empty()) {
    offload.erase("optimizer");
    offload["optimizer_fraction"] = fraction_in(words);
    notes.push_back(
        fmt::format("optimizer offload \"{}\" is taken as fraction {:g} (layout.offload)", words, fraction_in(words)));
  }
  if (const std::string words = text_of(offload, "activation"); !words.empty()) {
    offload.erase("activation");
    notes.push_back(
        fmt::format("activation offload is given in words, \"{}\": checkpoints of full recompute at most "
                    "are taken as offloaded (layout.offload)",
                    words));
  }
  const auto known = [](const std::string& name) { return parse_name<OffloadModule>(name).has_value(); };
  const char* what = "offload of {} is not modelled: its tensors are counted as kept (layout.offload)";
  keep_known(offload, "activation_modules", known, what, notes);
  if (offload.contains("activation")) keep_known(offload["activation"], "fine_grained_modules", known, what, notes);
}

void read_recompute_modules(Json& layout, Notes& notes) {
  if (!layout.contains("recompute") || !layout["recompute"].is_object()) return;
  Json& recompute = layout["recompute"];
  keep_known(
      recompute, "modules", [](const std::string& name) { return parse_name<RecomputeModule>(name).has_value(); },
      "recompute of {} is not modelled: its tensors are counted as kept (layout.recompute.modules)", notes);
  const bool listed = recompute.contains("modules") && recompute["modules"].is_array() && !recompute["modules"].empty();
  if (!listed || text_of(recompute, "granularity") == "selective") return;
  recompute["modules"] = Json::array();
  notes.push_back(
      "recompute modules are left out, as Megatron-Core does unless the granularity is selective "
      "(layout.recompute.modules)");
}

/// Scopes that are no part of a training step, or that name the whole of one. Source: Megatron-Core
/// transformer/cuda_graph_config.py (deprecated scopes), transformer_config.py:__post_init__.
void read_graph_scopes(Json& layout, Notes& notes) {
  if (!layout.contains("cuda_graph") || !layout["cuda_graph"].is_object()) return;
  Json& graph = layout["cuda_graph"];
  if (!graph.contains("scopes") || !graph["scopes"].is_array()) return;
  const std::string impl = text_of(graph, "impl");
  for (Json& scope : graph["scopes"])
    if (scope == "full") scope = "whole_layer";  // the older name of no scope at all
  const auto known = [](const std::string& name) {
    return parse_name<GraphScope>(name).has_value() || name == "whole_layer" || name == "full_iteration";
  };
  const bool scoped = !graph["scopes"].empty();
  keep_known(graph, "scopes", known, "graph scope {} captures nothing of a training step that is modelled (layout.cuda_graph)",
             notes);
  if (scoped && graph["scopes"].empty() && impl != "full_iteration") graph["impl"] = "none";  // no scope: a whole layer
  if (graph["scopes"].empty() || impl == "local" || impl == "transformer_engine") return;
  if (impl != "full_iteration")
    notes.push_back("graph scopes without a graph implementation capture nothing (layout.cuda_graph.scopes)");
  graph["scopes"] = Json::array();
}

/// Megatron-Core takes a list with an entry a layer; a layout has one for all.
void read_cp_comm_type(Json& layout, Notes& notes) {
  if (!layout.contains("cp_comm_type") || !layout["cp_comm_type"].is_array()) return;
  const Json list = layout["cp_comm_type"];
  if (list.empty()) {
    layout.erase("cp_comm_type");
    return;
  }
  const auto count = [&](const Json& type) { return std::count(list.begin(), list.end(), type); };
  const Json most = *std::max_element(list.begin(), list.end(),
                                      [&](const Json& a, const Json& b) { return count(a) < count(b); });
  if (count(most) != std::ptrdiff_t(list.size()))
    notes.push_back(
        fmt::format("cp_comm_type {} is taken for every layer: most of them have it (layout.cp_comm_type)", most.dump()));
  layout["cp_comm_type"] = most;
}

/// Megatron-Core takes a list of stages, each a list of layer names, where others write its string.
void read_layout_list(Json& layout) {
  if (!layout.contains("pipeline_layout") || !layout["pipeline_layout"].is_array()) return;
  std::string text;
  for (const Json& stage : layout["pipeline_layout"]) {
    if (&stage != &layout["pipeline_layout"].front()) text += '|';
    if (!stage.is_array()) return;  // no such form: the reader says what is expected
    for (const Json& layer : stage) {
      const std::string name = layer.is_string() ? layer.get<std::string>() : "";
      text += name == "embedding" ? "E" : name == "decoder" ? "t" : name == "mtp" ? "m" : name == "loss" ? "L" : name;
    }
  }
  layout["pipeline_layout"] = text;
}

/// A layout string decides how many virtual stages there are. Source: Megatron-Core transformer_config.py:__post_init__,
/// which refuses another vpp beside it: a run that started had none.
void follow_layout_string(Json& layout, Notes& notes) {
  const int pp = int_of(layout, "pp", 1), stated = int_of(layout, "vpp", 0);
  const PipelineSplit split{.kind = SplitKind::layout_string, .text = text_of(layout, "pipeline_layout")};
  if (split.text.empty() || stated == 0 || pp < 1) return;
  const int implied = implied_vpp(split, pp);
  if (implied == 0 || implied == stated) return;
  layout["vpp"] = implied;
  notes.push_back(fmt::format("vpp {} is taken as {}, which the layout string sets (layout.vpp)", stated, implied));
}

/// Megatron's names of optimizers hold the layer-wise one's too. Source: Megatron-LM training/arguments.py (--optimizer).
void read_optimizer_names(Json& run, Notes& notes) {
  if (!run.contains("training") || !run["training"].is_object() || !run["training"].contains("optimizer")) return;
  Json& optimizer = run["training"]["optimizer"];
  if (!optimizer.is_object()) return;
  if (text_of(optimizer, "kind") == "dist_muon") {
    optimizer["kind"] = "muon";
    Json& layout = run["layout"];
    if (layout.is_object() && !layout.contains("sharding")) layout["sharding"] = "layerwise";
    notes.push_back("optimizer dist_muon is Muon with layer-wise sharding (training.optimizer.kind)");
  }
  const auto narrow = [&](const char* key) {
    const std::string type = text_of(optimizer, key);
    return !type.empty() && type != "fp32";
  };
  if (optimizer.contains("precision_aware") || profile_of(run) == "torch-fsdp2") return;
  if (!narrow("main_params_dtype") && !narrow("exp_avg_dtype") && !narrow("exp_avg_sq_dtype")) return;
  optimizer["precision_aware"] = true;
  notes.push_back(
      "the precision-aware optimizer is assumed: no other keeps state in other types than fp32 "
      "(training.optimizer.precision_aware)");
}

/// What a row leaves out and another of its fields says: adapters are LoRA's, layer-wise sharding is Muon's, several
/// optimizer instances shard.
void follow_other_fields(Json& run, Notes& notes) {
  Json &layout = run["layout"], &training = run["training"];
  if (!layout.is_object() || !training.is_object()) return;
  const auto missing = [](const Json& block, const char* key) { return !block.contains(key) || block[key].is_null(); };
  if (!missing(training, "lora") && missing(training, "task")) {
    training["task"] = "lora";
    notes.push_back("task lora is taken from its block (training.task)");
  }
  if (text_of(layout, "sharding") == "layerwise") {
    if (missing(training, "optimizer")) training["optimizer"] = Json::object();
    if (training["optimizer"].is_object() && missing(training["optimizer"], "kind")) {
      training["optimizer"]["kind"] = "muon";
      notes.push_back("Muon is taken from layer-wise sharding (training.optimizer.kind)");
    }
  }
  if (int_of(layout, "optimizer_instances", 1) > 1 && missing(layout, "sharding")) {
    layout["sharding"] = "optimizer";
    notes.push_back("a distributed optimizer is taken from its instances (layout.sharding)");
  }
}

/// Keys of a data set's description that change neither rows nor how they are packed.
void read_packing_keys(Json& run, Notes& notes) {
  if (!run.contains("training") || !run["training"].is_object() || !run["training"].contains("packing")) return;
  Json& packing = run["training"]["packing"];
  if (!packing.is_object()) return;
  constexpr std::string_view kComputing[] = {"kind", "offline_packed", "efficiency_pct", "dataset", "pad_to_max_length"};
  std::vector<std::string> others;
  for (const auto& item : packing.items())
    if (std::find(std::begin(kComputing), std::end(kComputing), item.key()) == std::end(kComputing))
      others.push_back(item.key());
  for (const std::string& key : others) {
    packing.erase(key);
    notes.push_back(fmt::format("{} describes the data set and computes nothing (training.packing)", key));
  }
}

/// No images, so nothing to say of them.
void drop_images_of_text(Json& run, Notes& notes) {
  if (!run.contains("training") || !run["training"].is_object()) return;
  Json& training = run["training"];
  if (!training.contains("text_only") || training["text_only"] != true || !training.contains("vision")) return;
  training.erase("vision");
  notes.push_back("the run trains on text only: what it says of images is left out (training.vision)");
}

}  // namespace

bool offloads_checkpoints(const Json& run) {
  if (!run.contains("layout") || !run["layout"].is_object() || !run["layout"].contains("offload")) return false;
  const std::string words = text_of(run["layout"]["offload"], "activation");
  return mentions(words, "checkpoint") && (mentions(words, "cpu") || mentions(words, "host"));
}

std::vector<std::string> put_into_fields(Json& run) {
  Notes notes;
  if (run.contains("layout") && run["layout"].is_object()) {
    Json& layout = run["layout"];
    read_offload_words(layout, notes);
    read_recompute_modules(layout, notes);
    read_graph_scopes(layout, notes);
    read_cp_comm_type(layout, notes);
    read_layout_list(layout);
    follow_layout_string(layout, notes);
    read_optimizer_names(run, notes);
  }
  if (run.contains("layout") && run.contains("training")) follow_other_fields(run, notes);
  read_task_words(run, notes);
  read_packing_keys(run, notes);
  drop_images_of_text(run, notes);
  return notes;
}

}  // namespace shardfit::io
