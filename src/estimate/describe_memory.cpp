// SPDX-License-Identifier: Apache-2.0
#include "estimate/describe.hpp"

namespace shardfit {
namespace {

constexpr const char* kGoldens = "golden memory values of Megatron-LM's functional tests, 2026-08";

using Catalogue = EnumArray<MemoryTerm, TermWords>;

constexpr void describe_state(Catalogue& c) {
  using T = MemoryTerm;
  c[T::weights] = {"parameters of the stage in the parameter dtype, fp32 ones and router buffers among them",
                   "2 B (fp32 runs 4) x elements; / (dp*cp) or / edp where parameters are sharded",
                   "Megatron-LM core/distributed/param_and_grad_buffer.py", "bucket ends (under 2 KB a bucket)"};
  c[T::quantized_weights] = {"fp8 or fp4 forms of linear weights, row-wise and column-wise",
                             "per tensor 2 B an element (1 on Blackwell), 128-block 2.0005, mxfp8 2.0625, nvfp4 1.125; "
                             "beside the bf16 weight unless parameters are gathered quantised",
                             "Transformer Engine pytorch/tensor, pytorch/module/base.py", "padding of scales to 128 x 4"};
  c[T::gradients] = {"the gradient buffer, alive for the whole run",
                     "4 B (2 with bf16 reduction) x trainable elements; sharded under FSDP",
                     "Megatron-LM core/distributed/param_and_grad_buffer.py", "bucket ends (under 2 KB a bucket)"};
  c[T::master_weights] = {"the optimizer's own weights", "4 B (2 as remainder of a bf16 weight) x elements / shards",
                          "Megatron-LM core/optimizer/distrib_optimizer.py", "which rank holds the last, padded shard"};
  c[T::exp_avg] = {"first moment (momentum), made in the first optimizer step", "4 B (or its dtype) x elements / shards",
                   "Megatron-LM core/optimizer/optimizer.py", "moments that a resumed run loads before its first step"};
  c[T::exp_avg_sq] = {"second moment; none for sgd and for Muon's matrices", "4 B (or its dtype) x elements / shards",
                      "Megatron-LM core/optimizer/optimizer.py", "scales of fp8 moments"};
  c[T::gradient_copy_fp32] = {"fp32 copy of 2-byte gradients that the optimizer reads",
                              "4 B x elements / shards, from the optimizer step until gradients are zeroed",
                              "Megatron-LM core/optimizer/distrib_optimizer.py", "nothing known"};
  c[T::optimizer_step_buffers] = {
      "temporaries of the optimizer: masters on their way to gathered fp8 weights, or Muon's orthogonalised matrix",
      "2 B x quantised elements / shards, dense or expert; 8 B x largest matrix x tp; the larger",
      "Transformer Engine cast_master_weights_to_fp8; Megatron-LM's Muon, bytes assumed",
      "temporaries of torch's foreach optimizers, staging of optimizer offload"};
}

constexpr void describe_small_terms(Catalogue& c) {
  using T = MemoryTerm;
  c[T::placeholder_weight_gradients] = {"one uninitialised gradient per distinct weight shape, kept by fused accumulation",
                                        "2 B x rows x cols of every distinct linear weight and of the head",
                                        "Transformer Engine get_dummy_wgrad; Megatron-LM core/tensor_parallel/layers.py",
                                        "nothing known"};
  c[T::workspaces] = {"cuBLAS workspaces",
                      "torch 2 x 32 MiB (8.125 before Hopper), Transformer Engine 32 MiB (4), grouped GEMM 4 more",
                      "torch CUDABlas.cpp, Transformer Engine cpp_extensions/gemm.py; sizes confirmed by golden values",
                      "workspaces of attention kernels"};
  c[T::gathered_head_input] = {
      "a buffer that stays, for the head's input gathered over tp and the allgather dispatcher's tokens of a whole group",
      "N x h x 2 B on the last stage, N / tp x ep x etp x h x 2 B under the dispatcher; the larger",
      "Megatron-LM core/tensor_parallel/layers.py, mappings.py (global memory buffer), "
      "core/transformer/moe/token_dispatcher.py",
      "gathers of local layers"};
  c[T::kept_p2p] = {"stage inputs and their gradients still referenced after the step; of expert overlap its schedule plan",
                    "2 x vpp x N x h / tp x 2 B",
                    "Megatron-LM core/pipeline_parallel/schedules.py; count fits 8 measured layouts",
                    "the cause of the references"};
  c[T::resident_microbatches] = {"micro-batches of the step kept by some versions of the data loader", "stated by the stack",
                                 "Megatron-LM rerun machinery, 2026-05-21 to 2026-07-06", "stacks that do not state it"};
  c[T::tp_overlap_buffers] = {"workspaces of the streams that overlap GEMMs with TP traffic", "3 x 32 MiB (4 before Hopper)",
                              "Transformer Engine cpp_extensions/gemm.py (96 of 98 MiB measured in one run)",
                              "user buffers, which are outside torch"};
}

constexpr void describe_saved(Catalogue& c) {
  using T = MemoryTerm;
  const char* ops = "the operation list of the block; confirmed on measured peaks, dense median 0.05 %";
  const char* ignores = "alignment to 512 B";
  c[T::saved_attention] = {"attention: latent tensors, q, k, v, context, log-sum-exp or scores",
                           "sum of tensors x layers x live micro-batches", ops, ignores};
  c[T::saved_linear_attention] = {"gated DeltaNet and Mamba-2: convolution, kernel inputs, gates, outputs",
                                  "sum of tensors x layers x live micro-batches", "the operation list of the block", ignores};
  c[T::saved_mlp] = {"dense and shared MLP: fc1 output and activation", "N x f / tp x 2 B x 3 (2 without gate)", ops, ignores};
  c[T::saved_experts] = {"expert input, fc1 output, activation and index maps at balanced routing",
                         "rows x (h + 3 f / etp) x 2 B, rows = N / tp x topk x etp", ops,
                         "padding of rows for quantised GEMMs"};
  c[T::saved_router] = {"router logits, scores and the routing map", "9 B x tokens x experts", ops,
                        "temporaries of group-limited routing"};
  c[T::saved_norms] = {"inputs, outputs and statistics of norms, dropout masks", "4 x N x h / tp x 2 B a block", ops, ignores};
  c[T::saved_checkpoints] = {"layer inputs under full recompute", "N x h / tp x 2 B a group of layers", ops, ignores};
  c[T::saved_embedding] = {"what the embedding keeps (dropout mask)", "N x h / tp x 1 B", ops, ignores};
  c[T::saved_mtp] = {"multi-token prediction: its layer, six stream tensors and its own softmax",
                     "per depth: layer + 6 x N x h / tp x 2 B + 4 B x logits", ops, "a depth in flight on another stage"};
  c[T::saved_vision] = {"vision tower and projector", "sum of tensors over patches x live micro-batches",
                        "the operation list of the tower", "padding of images inside graphs"};
  c[T::saved_head] = {"final norm; a deferred head gradient keeps every micro-batch's input and logit gradients",
                      "2 x N x h / tp x 2 B", ops, ignores};
  c[T::routing_imbalance] = {"what the busiest rank has above balanced routing", "(imbalance - 1) x routed tensors",
                             "the stated imbalance", "that the busiest rank changes from layer to layer"};
  c[T::pipeline_buffers] = {"point-to-point tensors of the last stage", "2 (vpp > 1: 3) x N x h / tp x 2 B", kGoldens,
                            "receives ahead on middle stages"};
  c[T::batch] = {"the micro-batch: ids, labels, positions, loss mask, attention mask if the loader makes one",
                 "28 B (last of several stages 12) x tokens, + tokens x sequence", kGoldens, "prefetched batches, images"};
}

constexpr void describe_moments(Catalogue& c) {
  using T = MemoryTerm;
  c[T::logits] = {"logits and the loss's fp32 buffers, at the loss",
                  "N x V / tp x 6 B (plain), 10 B (native fused), 2 B (Transformer Engine)",
                  "Megatron-LM core/tensor_parallel/cross_entropy.py; measured peaks", "nothing known"};
  c[T::recompute_working_set] = {"tensors that backward makes again", "dropped tensors of one layer (full: of one group)",
                                 "Megatron-LM core/tensor_parallel/random.py", "which of them are alive at the same moment"};
  c[T::backward_buffers] = {"gradients in flight in the dearest operation's backward",
                            "MoE: 4 x rows x h x 2 B + 2 stream tensors; dense: gradient of fc1's output + 1",
                            "four SimuMax B200 runs, within 34 MiB each", "other moments of the same layer"};
  c[T::forward_buffers] = {"transients of the dearest operation's forward",
                           "largest of the operations; + 3 groups of an offload in flight", "the operation list of the block",
                           "two operations' transients that overlap"};
  c[T::embedding_gradient] = {"dense gradient of the word embedding before it joins the buffer", "V / tp x h x 2 B",
                              "Megatron-LM core/tensor_parallel/layers.py", "nothing known"};
  c[T::fsdp_unsharded_weights] = {
      "whole weights of the current and prefetched FSDP units",
      "current + units until max(1e9, 2 x unit) / 2 elements (none ahead at the loss), + embedding and head",
      "Megatron-LM core/distributed/fsdp/src/megatron_fsdp", "transposed copies of quantised units"};
  c[T::fsdp_unreduced_gradients] = {"whole gradients that wait for their reduce-scatter",
                                    "at most max(1e9, 2 x unit) elements, + the running unit",
                                    "Megatron-LM core/distributed/fsdp/src/megatron_fsdp", "nothing known"};
  c[T::graph_pool] = {"static inputs of captured layers; growth of a full-iteration capture",
                      "scoped: (N x h / tp x 2 B + attention mask) x captured layers x live micro-batches; "
                      "full iteration: 0.5 x eager activations",
                      "Megatron-LM core/transformer/cuda_graphs.py, golden values; growth assumed from the "
                      "guide's 1.5 to 2 times",
                      "driver memory of graph nodes; the pool itself, which is graph_reserve"};
}

constexpr void describe_outside(Catalogue& c) {
  using T = MemoryTerm;
  c[T::allocator_reserve] = {
      "what torch's allocator reserves beyond allocated bytes",
      "0.003 x allocated, 0.03 to 0.11 without expandable segments (and with vpp 0.15 x what comes and goes)",
      "344 B200 ranks without expandable segments: median 1.038, range 1.007 to 1.093", "fragmentation of one run"};
  c[T::graph_reserve] = {"what the pool of CUDA graphs keeps while nothing of it is in use",
                         "scoped: saved tensors of captured layers in flight (between steps) + their largest transient; "
                         "full iteration, between steps: (1 + growth) x eager activations",
                         "Megatron-LM core/transformer/cuda_graphs.py, core/full_cuda_graph.py: pools return nothing",
                         "driver memory of graph nodes"};
  c[T::cuda_context] = {"CUDA context and libraries", "stated by the hardware file", "hardware file", "driver versions"};
  c[T::nccl_buffers] = {"channels of every process group, NVLS buffers",
                        "communicators x size + NVLS groups x size; one of all ranks and the optimizer's too", "hardware file",
                        "channels that a group opens later"};
  c[T::dispatcher_buffers] = {"buffers of DeepEP or HybridEP",
                              "DeepEP: sms / 2 x peers x slots x token; HybridEP: T x ranks x h x 2 B + routing",
                              "DeepEP csrc/legacy/config.hpp; branch hybrid-ep", "heap of NVSHMEM"};
  c[T::user_buffers] = {"buffers of overlapped TP traffic", "12 x N x h x 2 B (gathering ones 1 B in fp8)",
                        "Transformer Engine initialize_ub", "ring-exchange reduce-scatter (larger)"};
  c[T::unmodelled] = {"what is known to exist and has no formula", "none", "none", "its size"};
}

constexpr Catalogue make_catalogue() {
  Catalogue c{};
  describe_state(c);
  describe_small_terms(c);
  describe_saved(c);
  describe_moments(c);
  describe_outside(c);
  return c;
}

constexpr Catalogue kCatalogue = make_catalogue();

constexpr bool has_words_for_all() {
  for (const TermWords& w : kCatalogue)
    if (!w.what || !w.formula || !w.source || !w.ignores) return false;
  return true;
}
static_assert(has_words_for_all(), "every memory term needs its words");

}  // namespace

const TermWords& words_of(MemoryTerm term) { return kCatalogue[term]; }

}  // namespace shardfit
