// SPDX-License-Identifier: Apache-2.0
#include "io/measured_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "io/measured_profile.hpp"
#include "io/tool_defaults.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::io {
namespace {

/// "expert capacity 1.10x" in the words of a software: 1.1. 0 where they do not say.
double stated_capacity(const std::string& software) {
  const std::string word = "capacity ";
  const auto at = software.find(word);
  const bool expert = mentions(software, "expert capacity ") && at != std::string::npos;
  return expert ? std::strtod(software.c_str() + at + word.size(), nullptr) : 0;
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
  const bool local = text_of(stack, "transformer_impl") == "local" && run.contains("layout") &&
                     int_of(run["layout"], "tp", 1) == 1;
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
  if (mentions(software, "chunked NLL") || mentions(software, "fused linear CE")) run["stack"]["chunked_cross_entropy"] = true;
  if (const double capacity = stated_capacity(software); capacity > 0) {
    Json& training = object_of(run, "training");
    set_default(training, "expert_capacity_factor", capacity);
    set_default(training, "token_drop", true);
  }
  for (std::string& note : apply_tool_defaults(run)) notes.push_back(std::move(note));
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
