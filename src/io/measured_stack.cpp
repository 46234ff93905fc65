// SPDX-License-Identifier: Apache-2.0
#include "io/measured_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "io/measured_profile.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::io {
namespace {

void set_default(Json& block, const char* key, const Json& value) {
  if (!block.contains(key) || block[key].is_null()) block[key] = value;
}

Json& object_of(Json& run, const char* key) {
  if (!run.contains(key) || run[key].is_null()) run[key] = Json::object();
  return run[key];
}

/// Expert parallelism and several micro-batches a step.
bool accumulates_experts(const Json& run) {
  if (!run.contains("layout") || !run.contains("training")) return false;
  const Json &l = run["layout"], &t = run["training"];
  const int model = int_of(l, "tp", 1) * int_of(l, "cp", 1) * int_of(l, "pp", 1);
  const int replicas = std::max(1, int_of(run, "gpus", 1) / std::max(1, model));
  return int_of(l, "ep", 1) > 1 && int_of(t, "global_batch_size", 0) > replicas * int_of(l, "micro_batch_size", 1);
}

void keep_state_in_fp32(Json& training) {
  Json& optimizer = object_of(training, "optimizer");
  for (const char* key : {"grad_buffer_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"})
    set_default(optimizer, key, "fp32");
}

/// What single tools do where a run is silent.
///   torch tools    keep the weights of pipeline stages gathered and their gradients whole over the micro-batches, since
///                  each would be gathered and reduced for every micro-batch else; compute the loss from whole fp32
///                  logits unless it is compiled.
///   AutoModel      keeps gradients whole without a pipeline too (defer_fsdp_grad_sync is on), and the weights of
///                  models with expert parallelism (its FSDP mixin for MoE). Its pretraining benchmarks leave logits in
///                  bf16 (fp32_upcast: false).
///   ModelZoo       runs with expandable segments, grouped and fused experts, and makes no attention mask; nor do
///                  slime and verl, which pack.
///   torchtitan     keeps parameters, gradients and moments in fp32 (training.dtype), computes in bf16; its
///                  selective recompute goes by operation, of which dropping norms and the MLP is the nearest form.
///   NeMo-RL        loads fp32 parameters too and trains Hugging Face's modules, written in single operations.
///   NeMo 2         sets no allocator option; Megatron-Bridge, its successor, does.
/// Source: AutoModel's repository (defer_fsdp_grad_sync, components/moe/fsdp_mixin.py, distributed/parallelizer.py;
/// 2026-08), Megatron-MoE-ModelZoo's model_configs. Kind: read for these, assumed for the others.
void apply_tool_defaults(Json& run, const std::string& software) {
  Json& stack = run["stack"];
  const bool torch = text_of(stack, "framework") != "megatron" && is_torch_tool(software);
  if (torch && run.contains("layout") && int_of(run["layout"], "pp", 1) > 1) {
    set_default(stack, "gradient_sync", "last_microbatch");
    set_default(stack, "reshard_after_forward", false);
  }
  if (mentions(software, "AutoModel")) {
    set_default(stack, "gradient_sync", "last_microbatch");
    if (accumulates_experts(run)) set_default(stack, "reshard_after_forward", false);
  }
  if (mentions(software, "ModelZoo"))
    for (const char* on : {"expandable_segments", "grouped_gemm", "permute_fusion"}) set_default(stack, on, true);
  if (mentions_any(software, {"ModelZoo", "slime", "verl"})) set_default(stack, "attention_mask_in_batch", false);
  if (mentions(software, "expandable_segments")) set_default(stack, "expandable_segments", true);
  if (mentions(software, "NeMo 2")) set_default(stack, "expandable_segments", false);
  const bool titan = mentions(software, "torchtitan"), rl = mentions(software, "NeMo-RL");
  if (rl && torch) set_default(stack, "eager_elementwise", true);
  const bool benchmark = mentions(software, "AutoModel") && run.contains("training") &&
                         text_of(run["training"], "task") == "pretrain";
  if (torch && !titan && !benchmark && !mentions(software, "compile")) set_default(stack, "eager_loss", true);
  if (titan || (rl && torch)) keep_state_in_fp32(object_of(run, "training"));
  if (!titan || !run.contains("layout") || !run["layout"].contains("recompute")) return;
  Json& recompute = run["layout"]["recompute"];
  if (!recompute.is_object()) return;
  if (text_of(recompute, "granularity") == "selective" && recompute.value("modules", Json::array()).empty())
    recompute["modules"] = {"layernorm", "mlp"};
}

/// "expert capacity 1.10x" in the words of a software: 1.1. 0 where they do not say.
double stated_capacity(const std::string& software) {
  const std::string word = "capacity ";
  const auto at = software.find(word);
  const bool expert = mentions(software, "expert capacity ") && at != std::string::npos;
  return expert ? std::strtod(software.c_str() + at + word.size(), nullptr) : 0;
}

/// Megatron-SWIFT joins the samples of a micro-batch without padding (padding_free) unless they are packed: rows are
/// as long as the samples, of which sequence_length is only the longest allowed. Mean length of instruction data over
/// that limit, and how many standard deviations (one mean long) the largest of many micro-batches lies above the mean.
/// Source: ms-swift swift/megatron/argument (padding_free defaults to true). Kind: assumed.
constexpr double kInstructionFill = 0.2, kLargestBatchDeviations = 3;

/// The share of micro_batch_size x sequence_length that the largest micro-batch fills.
double padding_free_fill(int micro_batch) {
  return std::min(1.0, kInstructionFill * (1 + kLargestBatchDeviations / std::sqrt(double(micro_batch))));
}

void shorten_padding_free(Json& run, const std::string& software, std::vector<std::string>& notes) {
  if (!mentions(software, "swift") || text_of(run["stack"], "framework") != "megatron") return;
  if (!run.contains("training") || !run["training"].is_object() || !run.contains("layout")) return;
  Json& training = run["training"];
  if (!training.contains("packing") || training["packing"] != false || text_of(training, "task") == "pretrain") return;
  const int micro_batch = int_of(run["layout"], "micro_batch_size", 1), limit = int_of(training, "sequence_length", 0);
  constexpr int kStep = 64;   // lengths stay divisible by the usual tp and cp
  const int length = int(limit * padding_free_fill(micro_batch)) / kStep * kStep;
  if (micro_batch <= 1 || length < kStep) return;
  training["sequence_length"] = length;
  notes.push_back(fmt::format("samples are joined without padding: rows of {} tokens, of {} allowed, are assumed "
                              "(training.sequence_length)",
                              length, limit));
}

/// Micro-batches whose head gradient waits in runs that defer it and state no limit. Source: --wgrad-deferral-limit of
/// Megatron-LM's functional tests (model_config.yaml, 2026-08) and of Megatron-Bridge's Llama recipes. Kind: read.
constexpr int kTestDeferralLimit = 2, kRecipeDeferralLimit = 22;

void limit_deferral(Json& run, std::vector<std::string>& notes) {
  Json& stack = run["stack"];
  if (!stack.contains("deferred_embedding_wgrad") || stack["deferred_embedding_wgrad"] != true) return;
  if (stack.contains("wgrad_deferral_limit")) return;
  const bool test = mentions(text_of(run, "source"), "functional test");
  const int limit = test ? kTestDeferralLimit : kRecipeDeferralLimit;
  stack["wgrad_deferral_limit"] = limit;
  notes.push_back(fmt::format("a deferral of {} micro-batches is assumed (stack.wgrad_deferral_limit)", limit));
}

/// Megatron-LM's functional tests run with CUBLAS_WORKSPACE_CONFIG=:4096:8, so with workspaces of 32 MiB on any GPU: two,
/// or four for local layers without tensor parallelism. Source: their golden values, exact multiples. Kind: measured.
void size_workspaces(Json& run) {
  constexpr double kWorkspaceMib = 32;
  constexpr int kUsual = 2, kLocal = 4;
  Json& stack = run["stack"];
  if (!mentions(text_of(run, "source"), "functional test") || stack.contains("torch_cublas_workspace_mib")) return;
  const bool local = text_of(stack, "transformer_impl") == "local" && run.contains("layout") && int_of(run["layout"], "tp", 1) == 1;
  stack["torch_cublas_workspace_mib"] = kWorkspaceMib * (local ? kLocal : kUsual);
}

}  // namespace

std::vector<std::string> apply_software(Json& run) {
  std::vector<std::string> notes;
  if (is_card(run) && text_of(run, "perf_grade") != "tuned") set_default(object_of(run, "training"), "routing", "natural");
  if (!run.contains("stack") || !run["stack"].is_object()) return notes;
  limit_deferral(run, notes);
  size_workspaces(run);
  const std::string software = text_of(run["stack"], "software");
  if (run.contains("layout") && run["layout"].is_object() && !run["layout"].contains("dispatcher")) {
    if (mentions(software, "HybridEP")) run["layout"]["dispatcher"] = "hybridep";
    if (mentions(software, "DeepEP")) run["layout"]["dispatcher"] = "deepep";
  }
  if (mentions(software, "chunked NLL") || mentions(software, "fused linear CE"))
    run["stack"]["chunked_cross_entropy"] = true;
  if (const double capacity = stated_capacity(software); capacity > 0) {
    Json& training = object_of(run, "training");
    set_default(training, "expert_capacity_factor", capacity);
    set_default(training, "token_drop", true);
  }
  apply_tool_defaults(run, software);
  shorten_padding_free(run, software, notes);
  return notes;
}

namespace {
constexpr const char* kInferred[] = {"torch_cublas_workspace_mib", "te_workspace_mib", "grouped_gemm_workspace_mib",
                                     "placeholder_weight_grads", "resident_microbatches_mib"};
}

bool has_inferred(const Json& run) {
  const Json stack = run.value("stack", Json::object());
  return stack.is_object() &&
         std::any_of(std::begin(kInferred), std::end(kInferred), [&](const char* key) { return stack.contains(key); });
}

Json without_inferred(Json run) {
  for (const char* key : kInferred) run["stack"].erase(key);
  return run;
}

std::optional<int> implied_expert_parallel(const Json& run, const ModelSpec& model, int ranks) {
  const Json stack = run.value("stack", Json::object());
  const std::string software = text_of(stack, "software");
  if (!mentions_any(software, {"DeepEP", "HybridEP"}) || text_of(stack, "framework") == "megatron") return std::nullopt;
  if (!run.contains("layout") || int_of(run["layout"], "ep", 1) != 1) return std::nullopt;
  for (const MlpSpec& mlp : model.text.mlps)
    if (const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind))
      if (const int ep = std::gcd(moe->num_experts, ranks); ep > 1) return ep;
  return std::nullopt;
}

}  // namespace shardfit::io
