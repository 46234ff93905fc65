// SPDX-License-Identifier: Apache-2.0
#include "io/tool_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/measured_profile.hpp"

namespace shardfit::io {

void set_default(Json& block, const char* key, const Json& value) {
  if (!block.contains(key) || block[key].is_null()) block[key] = value;
}

Json& object_of(Json& run, const char* key) {
  if (!run.contains(key) || run[key].is_null()) run[key] = Json::object();
  return run[key];
}

namespace {

/// What the words of a row say of its tool.
struct Tool {
  explicit Tool(const Json& run)
      : software(text_of(run["stack"], "software")), framework(text_of(run["stack"], "framework")), date(text_of(run, "date")) {
    torch = framework == "torch_fsdp2" || framework == "other" || (framework.empty() && is_torch_tool(software));
  }
  bool is(const char* word) const { return mentions(software, word); }
  bool since(const char* day) const { return !date.empty() && !is_before(date, day); }
  bool before(const char* day) const { return !date.empty() && is_before(date, day); }

  std::string software, framework, date;
  bool torch = false;  ///< trains outside Megatron-Core
};

bool has_block(const Json& run, const char* key) { return run.contains(key) && run[key].is_object(); }
bool pretrains(const Json& run) { return has_block(run, "training") && text_of(run["training"], "task") == "pretrain"; }

/// Expert parallelism and several micro-batches a step.
bool accumulates_experts(const Json& run) {
  if (!has_block(run, "layout") || !has_block(run, "training")) return false;
  const Json &l = run["layout"], &t = run["training"];
  const int model = int_of(l, "tp", 1) * int_of(l, "cp", 1) * int_of(l, "pp", 1);
  const int replicas = std::max(1, int_of(run, "gpus", 1) / std::max(1, model));
  return int_of(l, "ep", 1) > 1 && int_of(t, "global_batch_size", 0) > replicas * int_of(l, "micro_batch_size", 1);
}

/// When weights are gathered and gradients reduced.
///   torch tools    keep the weights of pipeline stages gathered and their gradients whole over the micro-batches, since
///                  each would be gathered and reduced for every micro-batch else.
///   AutoModel      keeps gradients whole without a pipeline too (defer_fsdp_grad_sync is on), and the weights of
///                  models with expert parallelism (its FSDP mixin for MoE).
/// Source: AutoModel's repository (defer_fsdp_grad_sync, components/moe/fsdp_mixin.py; 2026-08). Kind: read for it,
/// assumed for the others.
void set_gathers(const Tool& tool, Json& run) {
  Json& stack = run["stack"];
  if (tool.torch && has_block(run, "layout") && int_of(run["layout"], "pp", 1) > 1) {
    set_default(stack, "gradient_sync", "last_microbatch");
    set_default(stack, "reshard_after_forward", false);
  }
  if (!tool.is("AutoModel")) return;
  set_default(stack, "gradient_sync", "last_microbatch");
  if (accumulates_experts(run)) set_default(stack, "reshard_after_forward", false);
}

/// torchtitan left its loss out of torch.compile up to this day (bbb1b616e), and since the other takes the loss in chunks of
/// the sequence (ChunkedCELoss, 786e26f8e; its Llama and DeepSeek configurations take it). Kind: read.
constexpr const char* kTitanCompilesLossSince = "2025-04-02";
constexpr const char* kTitanChunksLossSince = "2026-04-27";

/// Before this day the backward of NeMo-RL's log-probabilities over a split vocabulary made a one-hot of it (c594dfa4a).
/// Kind: read.
constexpr const char* kNemoRlWithoutOneHotSince = "2025-07-25";

/// How the loss is computed.
///   torch tools    from whole fp32 logits in single operations, unless it is compiled.
///   AutoModel      leaves logits in bf16 in its pretraining benchmarks (fp32_upcast: false).
///   NeMo-RL        casts logits to fp32 and takes log-probabilities of them with Megatron-Core too.
/// Source: AutoModel's repository (distributed/parallelizer.py), NeMo-RL's algorithms/loss_functions.py and
/// distributed/model_utils.py. Kind: read for these, assumed for the others.
void set_loss(const Tool& tool, Json& run) {
  Json& stack = run["stack"];
  const bool titan = tool.is("torchtitan"), benchmark = tool.is("AutoModel") && pretrains(run);
  if (titan && tool.since(kTitanChunksLossSince)) return set_default(stack, "chunked_cross_entropy", true);
  const bool compiled = titan ? !tool.before(kTitanCompilesLossSince) : tool.is("compile");
  if ((tool.torch && !benchmark && !compiled) || tool.is("NeMo-RL")) set_default(stack, "eager_loss", true);
  const bool splits_vocabulary = !tool.torch || (has_block(run, "layout") && int_of(run["layout"], "tp", 1) > 1);
  if (tool.is("NeMo-RL") && tool.before(kNemoRlWithoutOneHotSince) && splits_vocabulary)
    set_default(stack, "one_hot_loss", true);
}

/// Gradients, master weights and moments in fp32.
///   torchtitan, NeMo-RL, prime-rl, verl   load parameters in fp32 and compute in bf16 (training.dtype; fp32 by default;
///                                         optimization_dtype; fsdp_config.model_dtype).
///   DeepSpeed, also under ms-swift        keeps an fp32 copy and fp32 moments of bf16 weights (bf16_optimizer, stage3).
/// Source: the configurations named. Kind: read for torchtitan, assumed for the others.
bool keeps_state_in_fp32(const Tool& tool) {
  return tool.torch && mentions_any(tool.software, {"torchtitan", "NeMo-RL", "prime-rl", "verl", "DeepSpeed", "swift"});
}

void set_state(const Tool& tool, Json& run) {
  if (!keeps_state_in_fp32(tool)) return;
  Json& optimizer = object_of(object_of(run, "training"), "optimizer");
  for (const char* key : {"grad_buffer_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"})
    set_default(optimizer, key, "fp32");
}

///   ModelZoo       runs with expandable segments, grouped and fused experts, and makes no attention mask; nor do
///                  slime and verl, which pack.
///   NeMo-RL        trains Hugging Face's modules, written in single operations, where it does not drive Megatron-Core.
///   NeMo 2         sets no allocator option; Megatron-Bridge, its successor, does.
/// Source: Megatron-MoE-ModelZoo's model_configs. Kind: read for it, assumed for the others.
void set_kernels(const Tool& tool, Json& run) {
  Json& stack = run["stack"];
  if (tool.is("ModelZoo"))
    for (const char* on : {"expandable_segments", "grouped_gemm", "permute_fusion"}) set_default(stack, on, true);
  if (mentions_any(tool.software, {"ModelZoo", "slime", "verl"})) set_default(stack, "attention_mask_in_batch", false);
  if (tool.is("expandable_segments")) set_default(stack, "expandable_segments", true);
  if (tool.is("NeMo 2")) set_default(stack, "expandable_segments", false);
  if (tool.is("NeMo-RL") && tool.torch) set_default(stack, "eager_elementwise", true);
}

/// torchtitan's selective recompute goes by operation: norms and the MLP's product are made again, every second matrix
/// product is kept (block/ffn.cpp).
void set_recompute(const Tool& tool, Json& run) {
  if (!tool.is("torchtitan") || !has_block(run, "layout") || !has_block(run["layout"], "recompute")) return;
  Json& recompute = run["layout"]["recompute"];
  if (text_of(recompute, "granularity") == "selective" && recompute.value("modules", Json::array()).empty())
    recompute["modules"] = {"layernorm", "mlp"};
}

/// Megatron-SWIFT joins the samples of a micro-batch without padding (padding_free) unless they are packed: rows are
/// as long as the samples, of which sequence_length is only the longest allowed. Mean length of instruction data in
/// tokens, and how many standard deviations (one mean long) the largest of many micro-batches lies above the mean.
/// Source: ms-swift swift/megatron/argument (padding_free defaults to true). Kind: assumed.
constexpr double kInstructionTokens = 410, kLargestBatchDeviations = 3;

/// Tokens a sample in the largest micro-batch.
double padding_free_length(int micro_batch, int limit) {
  return std::min(double(limit), kInstructionTokens * (1 + kLargestBatchDeviations / std::sqrt(double(micro_batch))));
}

void shorten_padding_free(const Tool& tool, Json& run, std::vector<std::string>& notes) {
  if (!tool.is("swift") || tool.torch || !has_block(run, "training") || !run.contains("layout")) return;
  Json& training = run["training"];
  if (!training.contains("packing") || training["packing"] != false || text_of(training, "task") == "pretrain") return;
  const int micro_batch = int_of(run["layout"], "micro_batch_size", 1), limit = int_of(training, "sequence_length", 0);
  constexpr int kStep = 64;  // lengths stay divisible by the usual tp and cp
  const int length = int(padding_free_length(micro_batch, limit)) / kStep * kStep;
  if (micro_batch <= 1 || length < kStep) return;
  training["sequence_length"] = length;
  notes.push_back(
      fmt::format("samples are joined without padding: rows of {} tokens, of {} allowed, are assumed "
                  "(training.sequence_length)",
                  length, limit));
}

/// ms-swift has tensor, pipeline and expert parallelism through Megatron-Core alone, whatever the row calls its framework.
void name_megatron_swift(Json& run, std::vector<std::string>& notes) {
  if (text_of(run["stack"], "framework") == "megatron" || !is_megatron_swift(run)) return;
  run["stack"]["framework"] = "megatron";
  notes.push_back("ms-swift with these axes is Megatron-SWIFT (stack.framework)");
}

/// A run with a LoRA block trains adapters, whatever else it calls its task.
void read_as_lora(Json& run, std::vector<std::string>& notes) {
  if (!has_block(run, "training") || !has_block(run["training"], "lora")) return;
  Json& training = run["training"];
  if (text_of(training, "task") == "lora") return;
  training["task"] = "lora";
  notes.push_back("a run with a lora block is taken as task lora (training.task)");
}

/// Virtual stages of a pipeline of one stage do nothing.
void drop_idle_vpp(Json& run, std::vector<std::string>& notes) {
  if (!has_block(run, "layout") || int_of(run["layout"], "pp", 1) > 1 || int_of(run["layout"], "vpp", 1) == 1) return;
  run["layout"]["vpp"] = 1;
  notes.push_back("vpp is left out: pp is 1 (layout.vpp)");
}

/// Megatron-Core's front ends pad rows so that tp and twice cp divide them (sequence parallelism; halves of a context-parallel
/// rank): a row of another length was padded. Kind: assumed, the least that divides (Megatron-Bridge pads to 128 by itself).
void pad_rows(const Tool& tool, Json& run, std::vector<std::string>& notes) {
  if (tool.torch || !has_block(run, "training") || !has_block(run, "layout")) return;
  const int tp = int_of(run["layout"], "tp", 1), cp = int_of(run["layout"], "cp", 1);
  const int stated = int_of(run["training"], "sequence_length", 0), unit = std::max(1, tp) * (cp > 1 ? 2 * cp : 1);
  const int padded = (stated + unit - 1) / unit * unit;
  if (padded == stated) return;
  run["training"]["sequence_length"] = padded;
  notes.push_back(fmt::format("rows of {} tokens are padded to {} (training.sequence_length)", stated, padded));
}

}  // namespace

std::vector<std::string> apply_tool_defaults(Json& run) {
  std::vector<std::string> notes;
  name_megatron_swift(run, notes);
  const Tool tool(run);
  set_gathers(tool, run);
  set_loss(tool, run);
  set_state(tool, run);
  set_kernels(tool, run);
  set_recompute(tool, run);
  shorten_padding_free(tool, run, notes);
  read_as_lora(run, notes);
  drop_idle_vpp(run, notes);
  pad_rows(tool, run, notes);
  return notes;
}

}  // namespace shardfit::io
