// SPDX-License-Identifier: Apache-2.0
// Computes:   the sizes, splits, number types and switches that decide the shapes of a rank's blocks.
// Formula:    N = s*b/cp tokens a rank; N/tp rows of the residual stream under sequence parallelism, else N; vocabulary
//             padded to a multiple of (multiple * tp).
// Source:     Megatron-LM core/tensor_parallel/mappings.py (sequence parallelism), core/utils.py:get_batch_on_this_cp_rank
//             (2*cp slices a rank), training/vocab_utils.py (padding).
// Valid when: the layout has passed the rules (s divides by 2*cp, N by tp).
// Ignores:    ragged rows of packed data (rows are full), the gradient of frozen first layers.
// Checked by: tests/block/shapes_test.cpp.
#include "block/shapes.hpp"

#include <algorithm>

#include "shardfit/base/error.hpp"
#include "shardfit/spec/model_dims.hpp"
#include "shardfit/spec/tower.hpp"

namespace shardfit::block {
namespace {

void set_model(Shapes& s, const TextSpec& text) {
  s.hidden = text.hidden_size;
  s.norm = text.norm;
  s.norm_post = text.norm_post;
  s.final_logit_softcapping = text.final_logit_softcapping;
  s.residual_streams = text.residual_streams;
}

void set_sizes(Shapes& s, const TrainingSpec& training, const Layout& layout) {
  s.tp = layout.tp;
  s.cp = layout.cp;
  s.ep = layout.ep;
  s.etp = layout.etp;
  s.micro_batch = layout.micro_batch_size;
  s.sequence_parallel = layout.sequence_parallel && s.tp > 1;
  s = with_sequence(s, training.sequence_length);
}

/// MTP layers never enter the fp4 context, but those of a hybrid stack do, layer by layer; fp8 they run in like the rest.
/// Source: Megatron-LM core/transformer/multi_token_prediction.py:_proj_and_transformer_layer, core/models/hybrid/
/// hybrid_block.py. Kind: read.
Precision mtp_precision(const TextSpec& text, Precision precision) {
  const bool hybrid = std::any_of(text.mixers.begin(), text.mixers.end(),
                                  [](const MixerSpec& m) { return std::holds_alternative<Mamba2Spec>(m.kind); });
  return precision == Precision::nvfp4 && !hybrid ? Precision::bf16 : precision;
}

void set_numbers(Shapes& s, const Job& job) {
  const TrainingSpec& training = job.training;
  s.precision = s.run_precision = training.precision;
  s.e = bytes_of(activation_dtype(training.precision));
  s.grad_bytes = bytes_of(training.optimizer.grad_buffer_dtype);
  s.module_precision = training.quant_recipe.modules;
  s.mtp_precision = training.quant_recipe.mtp.value_or(mtp_precision(job.model.text, training.precision));
  s.fp8_output_proj = training.fp8_output_proj;
  s.fp8_attention = training.fp8_attention;
  s.generation = job.hardware.gpu.generation;
  s.attention_dropout = training.attention_dropout > 0;
  s.hidden_dropout = training.hidden_dropout > 0;
}

/// The tower feeds the decoder, so gradients run through a frozen decoder where the tower or its projection trains.
bool vision_trains(const Job& job) {
  return training_of(job, ModelPart::vision_model).any() || training_of(job, ModelPart::vision_projection).any();
}

EnumSet<LinearModule> targets_of(const LoraSpec& lora) {
  EnumSet<LinearModule> targets;
  for (const std::string& name : lora.target_modules) {
    const auto target = parse_name<LinearModule>(name);
    if (!target) {
      std::string known;
      for (std::string_view n : all_names<LinearModule>()) known += (known.empty() ? "" : ", ") + std::string(n);
      throw InputError("", "/training/lora/target_modules", name, "linear layers of a block: " + known);
    }
    targets.insert(*target);
  }
  return targets;
}

void set_training(Shapes& s, const Job& job) {
  const PartTraining decoder = training_of(job, ModelPart::language_model);
  s.task_type = job.training.task_type;
  s.train_weights = decoder.weights;
  if (job.training.task == Task::lora) {
    const LoraSpec spec = job.training.lora.value_or(LoraSpec{});
    s.lora_targets = targets_of(spec);
    if (decoder.adapters) s.lora_rank = spec.rank;
  }
  s.needs_input_grad = decoder.any() || vision_trains(job);
}

void set_software(Shapes& s, const Job& job, const Layout& layout) {
  const StackProfile& stack = job.stack;
  const TrainingSpec& training = job.training;
  s.dispatcher = layout.dispatcher;
  s.cp_comm_type = layout.cp_comm_type;
  s.attention_kernel = stack.attention_kernel;
  s.dsa_kernel_backend = stack.dsa_kernel_backend;
  s.dsa_indexer_loss = stack.dsa_indexer_loss;
  s.cross_entropy = stack.cross_entropy;
  s.transformer_engine = stack.transformer_engine;
  s.grouped_gemm = stack.grouped_gemm;
  s.permute_fusion = stack.permute_fusion;
  s.router_fusion = stack.router_fusion;
  s.fused_grouped_mlp = stack.fused_grouped_mlp;
  s.moe_shared_expert_overlap = stack.moe_shared_expert_overlap;
  s.chunked_cross_entropy = stack.chunked_cross_entropy;
  s.eager_elementwise = stack.eager_elementwise;
  s.domain_share = std::min(1.0, double(job.hardware.fabric.placed_per_domain) / (layout.ep * layout.etp));
  s.eager_loss = stack.eager_loss;
  s.te_fp32_loss_gradient = stack.te_fp32_loss_gradient;
  s.one_hot_loss = stack.one_hot_loss;
  s.recompute_by_operation = stack.entry_point == EntryPoint::torch_tools;
  s.drop_and_pad = training.token_drop && training.pad_to_capacity;
  s.capacity_factor = training.token_drop ? training.expert_capacity_factor : 0;
  s.host_free_dispatch = s.drop_and_pad || stack.paged_stash || stack.expert_rank_capacity_factor > 0 ||
                         layout.cuda_graph.impl == CudaGraphImpl::full_iteration;
}

}  // namespace

Shapes make_shapes(const Job& job, const Layout& layout, double expert_load) {
  Shapes s;
  set_model(s, job.model.text);
  set_sizes(s, job.training, layout);
  set_numbers(s, job);
  set_training(s, job);
  set_software(s, job, layout);
  s.vocab = padded_vocab(job.model.text.vocab_size, job.training.vocab_padding_multiple, s.tp);
  s.expert_load = expert_load;
  return s;
}

Shapes in_bf16(Shapes s) {
  if (!is_quantized(s.precision)) return s;
  s.precision = Precision::bf16;
  s.fp8_attention = false;
  return s;
}

Shapes of_module(Shapes s, std::optional<LinearModule> module) {
  if (module && is_quantized(s.precision)) s.precision = s.module_precision[*module].value_or(s.precision);
  return s;
}

Shapes of_mtp(Shapes s) {
  if (s.mtp_precision == Precision::bf16) return in_bf16(s);
  s.precision = s.mtp_precision;
  return s;
}

Shapes with_sequence(Shapes s, int sequence) {
  s.sequence = sequence;
  s.tokens = s.sequence * s.micro_batch / s.cp;
  s.stream_tokens = s.sequence_parallel ? s.tokens / s.tp : s.tokens;
  return s;
}

Shapes undivided_shapes(const ModelSpec& model) {
  Shapes s;
  set_model(s, model.text);
  s.sequence = s.tokens = s.stream_tokens = 1;
  s.vocab = model.text.vocab_size;
  return s;
}

}  // namespace shardfit::block
