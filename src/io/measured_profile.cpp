// SPDX-License-Identifier: Apache-2.0
#include "io/measured_profile.hpp"

#include <algorithm>
#include <cctype>

namespace shardfit::io {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Tools that drive Megatron-Core with the defaults of its own command line.
bool is_megatron_command(const std::string& software) {
  return mentions_any(software, {"Megatron-LM", "slime", "ModelZoo", "NeMo-Aligner", "verl", "nanotron", "Pai-Megatron"});
}

constexpr const char *kBenchmark = "megatron-bridge-perf", *kLibrary = "megatron-bridge-2026-08";

/// Whether a Megatron-Bridge run follows a benchmark recipe (bf16 gradients, Transformer Engine's loss, forced
/// balance) and not a training one. Its performance guides and tables do; so do runs that state forced balance,
/// pretraining in fp8 or fp4, which the library's recipes do not use, and the pretraining of its verification cards
/// (one says that less than 65 GiB are allocated, which fp32 gradients would pass). Kind: read for guides and recipes,
/// assumed for the rest.
bool is_benchmark(const Json& run) {
  const std::string grade = text_of(run, "perf_grade"), status = text_of(run, "status");
  const bool pretrains = text_of(run.value("training", Json::object()), "task") == "pretrain";
  if (is_card(run) && pretrains) return true;
  if (grade == "functional") return false;
  for (const char* g : {"tuned", "measured_ab", "recipe", "tracker"})
    if (grade == g) return true;
  if (status == "published") return true;
  if (mentions_any(text_of(run, "source"), {"perf-", "perf_recipes", "performance"})) return true;
  const Json training = run.value("training", Json::object());
  if (text_of(training, "task") != "pretrain") return false;
  const std::string precision = text_of(training, "precision");
  const bool quantized = !precision.empty() && precision != "bf16" && precision != "fp16" && precision != "fp32";
  return text_of(training, "routing") == "balanced" || quantized;
}

/// Megatron-Bridge's library recipes set expandable segments since this day (its commit cce495373). Its benchmarks did
/// so where a layout needed it, and all of them since 2026-05-12 (6f24c71f3).
constexpr const char* kRecipesSetAllocatorSince = "2026-07-20";
/// Megatron-Bridge pads packed rows for expert parallelism too since this day.
constexpr const char* kVisionPadsSince = "2026-04-13";
/// Fused kernels know attention sinks since Transformer Engine 2.8 (softmax_type); before, Megatron computed such
/// attention from whole scores. Kind: assumed (the day).
constexpr const char* kFusedSinksSince = "2025-10-07";

/// Since this day Megatron-LM lays buffers out for the layer-wise optimizer and leaves what is not Muon's to the
/// distributed one (its 0044db1f20); before, whole tensors were dealt out.
constexpr const char* kLayerwiseLayoutSince = "2026-05-21";

/// Containers have Transformer Engine 2.18, whose fused loss makes an fp32 gradient, since this release; that of 26.06 is 2.16.
/// A run that names no release is taken as in the earlier one. Kind: read (Megatron-Bridge docs/releases/software-versions.md,
/// model_verification_cards/deepseek-v4-flash) but for the last.
constexpr const char* kFp32LossGradientRelease = "26.08";

/// Of a run of the head of the sources, a recipe without a container, the pin is that of the profile.
bool has_fp32_loss_gradient(const StackProfile& stack, const Json& row) {
  const Json stated = row.value("stack", Json::object());
  const std::string release = text_of(row, "release");
  if (release == "HEAD" || (stated.is_object() && stated.contains("te_fp32_loss_gradient"))) return stack.te_fp32_loss_gradient;
  return stack.te_fp32_loss_gradient && release >= kFp32LossGradientRelease;
}

bool has_sinks(const ModelSpec& model) {
  return std::any_of(model.text.mixers.begin(), model.text.mixers.end(), [](const MixerSpec& m) {
    const auto* gqa = std::get_if<GqaSpec>(&m.kind);
    return gqa && gqa->attention_sinks;
  });
}

}  // namespace

bool is_before(const std::string& date, const std::string& day) {
  return date.compare(0, std::min(date.size(), day.size()), day.substr(0, std::min(date.size(), day.size()))) < 0;
}

std::string text_of(const Json& run, const char* key) {
  return run.is_object() && run.contains(key) && run[key].is_string() ? run[key].get<std::string>() : "";
}

int int_of(const Json& block, const char* key, int otherwise) {
  return block.is_object() && block.contains(key) && block[key].is_number_integer() ? block[key].get<int>() : otherwise;
}

bool mentions(const std::string& text, const std::string& word) { return lower(text).find(lower(word)) != std::string::npos; }

bool mentions_any(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return mentions(text, w); });
}

bool is_torch_tool(const std::string& software) {
  if (mentions(software, "Megatron")) return false;  // Megatron-FSDP, or a tool that says it drives Megatron-Core
  return mentions_any(
      software, {"AutoModel", "torchtitan", "torchtune", "TRL", "accelerate", "DeepSpeed", "FSDP", "axolotl", "LLaMA-Factory",
                 "llm-foundry", "prime-rl", "HF trainer", "transformers", "OpenRLHF", "Unsloth", "NeMo-RL", "Aligner (FSDP"});
}

bool is_megatron_swift(const Json& run) {
  if (!run.contains("stack") || !run.contains("layout") || !mentions(text_of(run["stack"], "software"), "swift")) return false;
  const Json& layout = run["layout"];
  return int_of(layout, "tp", 1) > 1 || int_of(layout, "pp", 1) > 1 || int_of(layout, "ep", 1) > 1 ||
         text_of(layout, "sharding") == "optimizer";
}

bool is_card(const Json& run) { return mentions(text_of(run, "source"), "verification_card"); }

std::string profile_of(const Json& run) {
  const Json stack = run.value("stack", Json::object());
  const std::string software = text_of(stack, "software"), framework = text_of(stack, "framework");
  const std::string source = text_of(run, "source");
  const bool torch = framework == "torch_fsdp2" || framework == "other";
  if (torch && !is_megatron_swift(run)) return "torch-fsdp2";
  if (mentions(software, "swift") || mentions(source, "ms-swift")) return "ms-swift";
  if (mentions(source, "Megatron-LM functional test") || mentions(source, "SimuMax")) return "megatron-lm-2026-08";
  if (is_megatron_command(software)) return "megatron-lm-2026-08";
  if (framework.empty() && is_torch_tool(software)) return "torch-fsdp2";
  return is_benchmark(run) ? kBenchmark : kLibrary;
}

std::set<std::string> benchmark_groups(const Json& rows) {
  std::set<std::string> groups;
  for (const Json& row : rows)
    if (row.is_object() && !is_card(row) && !text_of(row, "group").empty() && profile_of(row) == kBenchmark)
      groups.insert(text_of(row, "group"));
  return groups;
}

std::string profile_of(const Json& run, const std::set<std::string>& benchmark_groups) {
  const std::string own = profile_of(run);
  const bool follows = own == kLibrary && !is_card(run) && text_of(run, "perf_grade") != "functional";
  return follows && benchmark_groups.contains(text_of(run, "group")) ? kBenchmark : own;
}

StackProfile dated(StackProfile stack, const Json& row, const ModelSpec& model) {
  stack.te_fp32_loss_gradient = has_fp32_loss_gradient(stack, row);
  constexpr std::size_t kDayLength = 10, kMonthLength = 7;  // YYYY-MM-DD, YYYY-MM; rougher dates say too little
  const std::string date = text_of(row, "date");
  if (date.size() < kMonthLength) return stack;
  if (date.size() == kDayLength) stack.date = date;
  const Json stated = row.value("stack", Json::object());
  const bool states_allocator = stated.is_object() && stated.contains("expandable_segments");
  if (is_before(date, kRecipesSetAllocatorSince) && stack.name == kLibrary && !states_allocator)
    stack.expandable_segments = false;
  if (is_before(date, kVisionPadsSince)) stack.vision_pads_when_ep = false;
  if (is_before(date, kLayerwiseLayoutSince)) stack.layerwise_whole_tensors = true;
  if (is_before(date, kFusedSinksSince) && stack.framework == Framework::megatron && has_sinks(model))
    stack.attention_kernel = AttentionKernel::unfused;
  return stack;
}

}  // namespace shardfit::io
