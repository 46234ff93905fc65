// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <limits>

#include "io/load.hpp"
#include "io/read_run.hpp"
#include "io/run_fields.hpp"

namespace shardfit::io {
namespace {

using validation::MeasuredEffect;
using validation::MeasuredRun;

std::string text_of(const Json& run, const char* key) {
  return run.contains(key) && run[key].is_string() ? run[key].get<std::string>() : "";
}

std::vector<std::string> texts_of(const Json& run, const char* key) {
  std::vector<std::string> texts;
  if (run.contains(key) && run[key].is_array())
    for (const Json& item : run[key])
      if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

bool mentions(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// The entry point that filled a run's defaults, from what the run says of its software and source.
std::string profile_of(const Json& run) {
  const Json stack = run.value("stack", Json::object());
  const std::string software = text_of(stack, "software"), framework = text_of(stack, "framework");
  const std::string source = text_of(run, "source"), grade = text_of(run, "perf_grade");
  if (framework == "torch_fsdp2" || framework == "other") return "torch-fsdp2";
  if (mentions(software, "ms-swift")) return "ms-swift";
  if (mentions(source, "Megatron-LM functional test") || mentions(source, "SimuMax"))
    return "megatron-lm-2026-08";
  for (const char* direct : {"Megatron-LM", "slime", "Megatron-Core MoE ModelZoo", "NeMo-Aligner"})
    if (mentions(software, direct)) return "megatron-lm-2026-08";
  // A/B pairs of fine-tuning run the library's recipes, which reduce gradients in fp32.
  const Json training = run.value("training", Json::object());
  if (grade == "measured_ab" && text_of(training, "task") == "sft") return "megatron-bridge-2026-08";
  // NVIDIA's performance tracker runs the perf recipes too.
  if (grade == "tuned" || grade == "measured_ab" || grade == "recipe" || grade == "tracker") return "megatron-bridge-perf";
  return "megatron-bridge-2026-08";
}

void set_default(Json& block, const char* key, const Json& value) {
  if (!block.contains(key)) block[key] = value;
}

/// Expert parallelism and several micro-batches a step.
bool accumulates_experts(const Json& run) {
  if (!run.contains("layout") || !run.contains("training")) return false;
  const Json &l = run["layout"], &t = run["training"];
  const int model = l.value("tp", 1) * l.value("cp", 1) * l.value("pp", 1);
  const int replicas = std::max(1, run.value("gpus", 1) / model);
  return l.value("ep", 1) > 1 && t.value("global_batch_size", 0) > replicas * l.value("micro_batch_size", 1);
}

/// What single tools do where a run is silent.
///   AutoModel      keeps gradients whole over the micro-batches (defer_fsdp_grad_sync is on), and the weights of
///                  models with expert parallelism too (its FSDP mixin for MoE).
///   ModelZoo       runs with expandable segments.
///   torchtitan     keeps parameters, gradients and moments in fp32 (training.dtype), computes in bf16; its
///                  selective recompute goes by operation, of which dropping norms and the MLP is the nearest form.
///   NeMo-RL        loads fp32 parameters too and trains Hugging Face's modules, written in single operations.
///   NeMo 2         sets no allocator option; Megatron-Bridge, its successor, does.
/// Source: AutoModel's repository (defer_fsdp_grad_sync, components/moe/fsdp_mixin.py; 2026-08). Kind: read for
/// AutoModel, assumed for the others.
void apply_tool_defaults(Json& run, const std::string& software) {
  Json& stack = run["stack"];
  if (mentions(software, "AutoModel")) {
    set_default(stack, "gradient_sync", "last_microbatch");
    if (accumulates_experts(run)) set_default(stack, "reshard_after_forward", false);
  }
  if (mentions(software, "ModelZoo")) set_default(stack, "expandable_segments", true);
  if (mentions(software, "NeMo 2")) set_default(stack, "expandable_segments", false);
  const bool titan = mentions(software, "torchtitan");
  if (mentions(software, "NeMo-RL")) set_default(stack, "eager_elementwise", true);
  if ((titan || mentions(software, "NeMo-RL")) && run.contains("training") && run["training"].is_object()) {
    Json& training = run["training"];
    set_default(training, "optimizer", Json::object());
    for (const char* key : {"grad_buffer_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"})
      set_default(training["optimizer"], key, "fp32");
  }
  if (!titan || !run.contains("layout") || !run["layout"].contains("recompute")) return;
  Json& recompute = run["layout"]["recompute"];
  if (recompute.value("granularity", "") == "selective" && recompute.value("modules", Json::array()).empty())
    recompute["modules"] = {"layernorm", "mlp"};
}

/// What a run's software text says that has a field of its own: the expert library and chunked logits. Notes describe a
/// row and compute nothing.
void apply_software(Json& run) {
  if (!run.contains("stack") || !run["stack"].is_object()) return;
  const std::string software = text_of(run["stack"], "software");
  if (run.contains("layout") && run["layout"].is_object() && !run["layout"].contains("dispatcher")) {
    if (mentions(software, "HybridEP")) run["layout"]["dispatcher"] = "hybridep";
    if (mentions(software, "DeepEP")) run["layout"]["dispatcher"] = "deepep";
  }
  if (mentions(software, "chunked NLL") || mentions(software, "fused linear CE"))
    run["stack"]["chunked_cross_entropy"] = true;
  apply_tool_defaults(run, software);
}

/// The one text of offload that has a form: full recompute whose checkpoints go to the host.
constexpr const char* kCheckpointsToHost = "activation checkpoints to CPU";

bool offloads_checkpoints(const Json& run) {
  return run.contains("layout") && run["layout"].contains("offload") &&
         text_of(run["layout"]["offload"], "activation") == kCheckpointsToHost;
}

/// Takes what has no form in the specs out of a run, and says what it was.
std::vector<std::string> take_unsupported(Json& run) {
  std::vector<std::string> reasons;
  if (!run.contains("layout") || !run["layout"].is_object()) return reasons;
  Json& layout = run["layout"];
  if (layout.contains("offload") && layout["offload"].is_object() &&
      layout["offload"].contains("activation") && layout["offload"]["activation"].is_string()) {
    const std::string words = text_of(layout["offload"], "activation");
    if (words != kCheckpointsToHost) reasons.push_back("activation offload is given in words: " + words);
    layout["offload"].erase("activation");
  }
  if (layout.contains("recompute") && layout["recompute"].is_object() &&
      layout["recompute"].contains("modules") && layout["recompute"]["modules"].is_array()) {
    Json& modules = layout["recompute"]["modules"];
    const auto mhc = std::find(modules.begin(), modules.end(), Json("mhc"));
    if (mhc != modules.end()) {
      reasons.push_back("recompute of hyper-connections (mhc)");
      modules.erase(mhc);
    }
  }
  return reasons;
}

void read_quantities(const Json& measured, MeasuredRun& run) {
  for (const auto& item : measured.items()) {
    const Json& v = item.value();
    if (v.is_number() && !v.is_boolean()) run.quantities[item.key()] = v.get<double>();
    if (v.is_array() && !v.empty() &&
        std::all_of(v.begin(), v.end(), [](const Json& x) { return x.is_number(); }))
      run.by_rank[item.key()] = v.get<std::vector<double>>();
  }
  run.each_rank = text_of(measured, "rank") == "each";
  run.peak_kind = text_of(measured, "peak_kind");
  const bool oom = measured.value("oom", Json()) == true || text_of(measured, "outcome") == "OOM";
  const bool ran = measured.value("fits", Json()) == true || text_of(measured, "outcome") == "fits" ||
                   !run.quantities.empty() || !run.by_rank.empty();
  if (oom)
    run.oom = true;
  else if (ran)
    run.oom = false;
}

/// Megatron-Bridge pads packed rows for expert parallelism too since this day.
constexpr const char* kVisionPadsSince = "2026-04-13";

/// Megatron-Bridge's library recipes set expandable segments since this day (its commit cce495373).
constexpr const char* kRecipesSetAllocatorSince = "2026-07-20";

/// Fused kernels know attention sinks since Transformer Engine 2.8 (softmax_type); before, Megatron computed such
/// attention from whole scores. Kind: assumed (the day).
constexpr const char* kFusedSinksSince = "2025-10-07";

bool has_sinks(const ModelSpec& model) {
  return std::any_of(model.text.mixers.begin(), model.text.mixers.end(), [](const MixerSpec& m) {
    const auto* gqa = std::get_if<GqaSpec>(&m.kind);
    return gqa && gqa->attention_sinks;
  });
}

/// The profile as it was on the day of the run: the layout rules and the tower's padding go by its date, and so
/// does the attention kernel of models with sinks.
StackProfile dated(StackProfile stack, const Json& row, const ModelSpec& model) {
  constexpr std::size_t kDayLength = 10;  // YYYY-MM-DD; rougher dates say too little
  const std::string date = text_of(row, "date");
  if (date.size() != kDayLength) return stack;
  stack.date = date;
  const bool states_allocator = row.value("stack", Json::object()).contains("expandable_segments");
  if (date < kRecipesSetAllocatorSince && stack.name == "megatron-bridge-2026-08" && !states_allocator)
    stack.expandable_segments = false;
  if (date < kVisionPadsSince) stack.vision_pads_when_ep = false;
  if (date < kFusedSinksSince && stack.framework == Framework::megatron && has_sinks(model))
    stack.attention_kernel = AttentionKernel::unfused;
  return stack;
}

int key_value_heads(const ModelSpec& model) {
  int least = std::numeric_limits<int>::max();
  for (const MixerSpec& m : model.text.mixers)
    if (const auto* gqa = std::get_if<GqaSpec>(&m.kind)) least = std::min(least, gqa->num_key_value_heads);
  return least;
}

/// Tensor parallelism that a source does not state but somebody inferred stays within the key-value heads: beyond them
/// Megatron-Core gathers the whole QKV activation in every layer (since its f7dfb9979 of 2025-12-06; before, it refused),
/// and of the 544 carried runs that state it, one goes there. Returns the size that was inferred, or none.
std::optional<int> bound_inferred_tp(Json& run) {
  const Json assumed = run.value("assumed", Json::object());
  const Json model = run.value("model", Json());
  if (!assumed.is_object() || !assumed.contains("tp") || !assumed["tp"].is_number_integer() || !model.is_string())
    return std::nullopt;
  const int inferred = assumed["tp"].get<int>(), heads = key_value_heads(load_model(model.get<std::string>()));
  if (inferred <= heads) return std::nullopt;
  run["assumed"]["tp"] = heads;
  return inferred;
}

bool is_tuned(const MeasuredRun& run, const Json& row) {
  const bool graded = run.status == "published" || run.perf_grade == "tuned";
  const bool timed = run.quantities.contains("step_time_s") || run.quantities.contains("tflops_per_gpu");
  if (!graded || !timed || !run.incomplete.empty() || !run.invalid.empty()) return false;
  const Job& job = run.scenario.job;
  if (job.model.vision && !job.training.text_only) return false;
  return job.training.task != Task::lora || row["training"].contains("lora");
}

MeasuredRun read_row(const Json& row, const std::string& file, std::size_t index) {
  MeasuredRun run;
  run.file = file;
  const Place place = Place{file, ""}.down(index);
  if (!row.is_object()) {
    run.invalid = InputError(file, place.pointer, Value(row, place).quoted(), "an object").what();
    return run;
  }
  run.id = text_of(row, "id");
  run.source = text_of(row, "source");
  run.release = text_of(row, "release");
  run.status = text_of(row, "status");
  run.perf_grade = text_of(row, "perf_grade");
  run.group = text_of(row, "group");
  run.variant = text_of(row, "variant");
  run.family = texts_of(row, "family");
  run.incomplete = texts_of(row, "incomplete");
  run.fields = run_fields(row);
  if (row.contains("measured") && row["measured"].is_object()) read_quantities(row["measured"], run);
  try {
    Json run_json = row;
    run.unsupported = take_unsupported(run_json);
    apply_software(run_json);
    const std::optional<int> inferred_tp = bound_inferred_tp(run_json);
    run.scenario = read_run(Value(run_json, place), {Missing::assume, profile_of(row)});
    run.scenario.job.stack = dated(run.scenario.job.stack, row, run.scenario.job.model);
    if (inferred_tp)
      run.scenario.assumptions.push_back("tp " + std::to_string(run.scenario.base.tp) + " is assumed, the key-value heads, where tp " +
                                         std::to_string(*inferred_tp) + " was inferred (layout.tp)");
    if (offloads_checkpoints(row))
      run.scenario.base.offload.activation_layers = run.scenario.job.model.text.num_hidden_layers - 1;
    const auto stated = [&](const char* block) {
      return row.contains(block) && row[block].is_object() && row[block].contains("global_batch_size");
    };
    run.global_batch_assumed = !stated("training") && !stated("assumed");
  } catch (const InputError& error) {
    run.invalid = error.what();
  }
  run.tuned = is_tuned(run, row);
  run.fields["tuned"] = run.tuned ? "true" : "false";
  return run;
}

MeasuredEffect read_effect(const Value& value) {
  Object o(value);
  MeasuredEffect e;
  e.id = o.at("id").as_text();
  e.a = o.at("a").as_text();
  e.b = o.at("b").as_text();
  e.kind = o.at("kind").as_text();
  e.change = o.get("change", "");
  e.quantity = o.get("quantity", "step_time_per_token");
  const Value measured = o.at("measured");
  if (measured.is_text())
    e.outcome = measured.as_text();
  else
    e.measured = measured.as_number(std::numeric_limits<double>::lowest());
  e.unit = o.get("unit", "");
  e.noise = o.get("noise", 0.0, 0.0);
  e.clean = o.get("clean", false);
  e.relation_only = o.get("relation_only", false);
  e.a_died = o.get("a_died", false);
  e.b_died = o.get("b_died", false);
  e.family = o.get("family", "");
  e.release = o.get("release", "");
  e.note = o.get("note", "");
  e.peak = o.get("peak", "");
  if (const auto v = o.find("also_differs")) e.also_differs = v->as_texts();
  if (const auto v = o.find("one_sided")) e.one_sided = v->as_texts();
  o.ignore("from");
  o.done();
  return e;
}

}  // namespace

std::vector<MeasuredRun> load_measured(const std::string& path) {
  const Json json = parse_json_file(path);
  if (!json.is_array()) Value(json, {path, ""}).refuse("a list of runs");
  std::vector<MeasuredRun> runs;
  runs.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) runs.push_back(read_row(json[i], path, i));
  return runs;
}

std::vector<MeasuredEffect> load_effects(const std::string& path) {
  const Json json = parse_json_file(path);
  std::vector<MeasuredEffect> effects;
  for (const Value& v : Value(json, {path, ""}).as_list()) effects.push_back(read_effect(v));
  return effects;
}

}  // namespace shardfit::io
