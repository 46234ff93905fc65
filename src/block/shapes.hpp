// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::block {

/// What decides every shape of a block on one rank: sizes of the micro-batch, how widths are split, number types, and
/// the switches of the software. It never sees pp, dp or which stage the block is on.
struct Shapes {
  // sizes
  std::int64_t hidden = 0;
  std::int64_t sequence = 0;       ///< s, of the whole sequence
  std::int64_t micro_batch = 1;    ///< b
  std::int64_t tokens = 0;         ///< N = s*b/cp: tokens of a micro-batch on a context-parallel rank
  std::int64_t stream_tokens = 0;  ///< N/tp with sequence parallelism, else N: rows of the residual stream
  std::int64_t vocab = 0;          ///< padded
  int tp = 1, cp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;
  NormKind norm = NormKind::rmsnorm;
  bool norm_post = false;
  bool norms_written_out = false;  ///< norms in single fp32 operations, whatever the software fuses
  bool final_logit_softcapping = false;
  TaskType task_type = TaskType::causal_lm;
  int residual_streams = 1;
  double expert_load = 1;  ///< rows on this rank's experts over the balanced number

  // numbers
  Precision precision = Precision::bf16;      ///< of the layer
  Precision run_precision = Precision::bf16;  ///< of the run, in whose form quantised parameters are stored
  EnumArray<LinearModule, std::optional<Precision>> module_precision;  ///< where `precision` is quantised: of single modules
  Precision mtp_precision = Precision::bf16;
  bool fp8_output_proj = false;  ///< the output projection runs in mxfp8, whatever the layers do
  int e = 2;                     ///< bytes of an activation
  int grad_bytes = 4;            ///< of the gradient buffer, which weight-gradient GEMMs accumulate into
  bool fp8_attention = false;
  GpuGeneration generation = GpuGeneration::hopper;
  bool attention_dropout = false, hidden_dropout = false;

  // what trains
  bool train_weights = true;     ///< false: frozen: no weight gradient, inputs kept only where something else needs them
  bool needs_input_grad = true;  ///< something upstream trains, so activation gradients run through
  int lora_rank = 0;             ///< above 0: adapters on `lora_targets`, base weights frozen
  EnumSet<LinearModule> lora_targets;

  // software
  Dispatcher dispatcher = Dispatcher::alltoall;
  CpCommType cp_comm_type = CpCommType::p2p;
  AttentionKernel attention_kernel = AttentionKernel::fused;
  DsaKernelBackend dsa_kernel_backend = DsaKernelBackend::cudnn;
  bool dsa_indexer_loss = true;
  CrossEntropy cross_entropy = CrossEntropy::native_fused;
  bool transformer_engine = true, grouped_gemm = true, permute_fusion = true, router_fusion = true;
  bool fused_grouped_mlp = false, moe_shared_expert_overlap = false, chunked_cross_entropy = false;
  bool eager_elementwise = false, eager_loss = false, te_fp32_loss_gradient = false, one_hot_loss = false;
  bool recompute_by_operation = false;  ///< selective recompute keeps every second matrix product (torch's tools)
  bool drop_and_pad = false;            ///< token_drop with pad_to_capacity: expert rows are the capacity
  double capacity_factor = 0;           ///< 0: dropless
  double domain_share = 1;              ///< share of the dispatcher's ranks (and of all experts) in one NVLink domain
  /// Row counts known without asking the device (drop+pad, rank capacity, paged stash, full-iteration graph).
  bool host_free_dispatch = false;
};

/// Shapes of a layout's decoder blocks. `layout` must have passed the rules. `expert_load` is the stated imbalance
/// (1: balanced). Throws InputError for a LoRA target that no block has. Source of N, Ns: design notes of Megatron-Core's
/// sequence and context parallelism.
Shapes make_shapes(const Job& job, const Layout& layout, double expert_load);

/// The same for a layer that the run keeps in bf16 (first_last_layers_bf16).
Shapes in_bf16(Shapes shapes);

/// The same for a linear layer that the quant_recipe gives a precision of its own. It overrides quantised layers alone.
Shapes of_module(Shapes shapes, std::optional<LinearModule> module);

/// The same for the layers of an MTP depth.
Shapes of_mtp(Shapes shapes);

/// The same for rows of another length: what runs where the step does not pad to full length.
Shapes with_sequence(Shapes shapes, int sequence);

/// The whole model on one device without padding of the vocabulary: for counting parameters.
Shapes undivided_shapes(const ModelSpec& model);

}  // namespace shardfit::block
