// SPDX-License-Identifier: Apache-2.0
// Computes:   the lightning indexer of DeepSeek sparse attention, whole on every tensor-parallel rank.
// Formula:    q [ni*di, ql], k [di, h], weights [ni, h], a LayerNorm of di. 2*ni*di FLOP a causal pair for the scores; fp32
//             scores of a pair, summed over heads, are written and read by the choice. Kept: N*topk*4 chosen keys, and
//             where a loss trains it N*ni*di + s*b*di + N*ni for its gradient (cuDNN keeps the gradients themselves, the
//             same sizes). The loss reads the heads' scores of the chosen pairs (2*n/tp*(kvl + rope) FLOP) and sends
//             gradients of them (twice the index's own). Passing: scores of 8192 queries (TileLang); at most 1 GiB of
//             scores and 2 GiB of scratch (cuDNN); without kernels ni scores a pair.
// Source:     Megatron-LM core/transformer/experimental_attention_variant/{dsa,dsa_kernels,dsa_cudnn_kernels}.py,
//             ops/tilelang_dsa.py: _INDEXER_SCORE_CHUNK_MAX_BYTES, _TOPK_WRAPPER_MAX_SCRATCH_BYTES,
//             fused_indexer_block_size; loss over the chosen pairs alone (dsa_indexer_use_sparse_loss, as Megatron-Bridge's
//             glm5_bridge.py sets it).
// Valid when: context-parallel keys are gathered.
// Ignores:    fp8 scores, the Hadamard rotation, the all-reduce of the loss's target over tp.
// Checked by: tests/block/sparse_mla_test.cpp.
#include <algorithm>

#include "block/core_attention.hpp"
#include "block/linear.hpp"
#include "block/sparse_mla.hpp"

namespace shardfit::block {
namespace {

constexpr double kScoreBytes = 4, kIndexBytes = 4;                                      ///< an fp32 score, an int32 key
constexpr double kBlockRows = 8192;                                                     ///< queries a TileLang call
constexpr double kScoreChunk = 1024.0 * 1024 * 1024, kChoiceScratch = 2 * kScoreChunk;  ///< cuDNN, B
constexpr double kScratchWords = 2;  ///< int32 a score that cuDNN's choice works in
constexpr double kScorePasses = 3;   ///< written, read twice by the choice (kind: assumed)
constexpr double kCopies = 2;        ///< unfused, of a score: before and after an operation

// Calls and launches beside the lists' (kind: counted in dsa.py: module, norm, rotations of q and k, score kernels, choice).
constexpr double kIndexerCalls = 6, kIndexerLaunches = 14;

/// The indexer's gradient stops at its inputs: forward and weight gradient, never an input gradient.
Shapes indexer_shapes(Shapes s) {
  s.train_weights = trains_base(s) && s.dsa_indexer_loss;
  s.needs_input_grad = false;
  return s;
}

void add_index_projections(Op& op, const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  const SparseIndexerSpec& x = *m.indexer;
  const std::int64_t q_in = m.q_lora_rank.value_or(int(s.hidden)), query = std::int64_t(x.num_heads) * x.head_dim;
  Shapes own = indexer_shapes(s);
  add_linear(op, linear("indexer_wq_b", s.tokens, query, q_in, Split::replicated), own);
  add_linear(op, linear("indexer_wk", s.tokens, x.head_dim, s.hidden, Split::replicated), own);
  add_linear(op, linear("indexer_weights_proj", s.tokens, x.num_heads, s.hidden, Split::replicated), own);
  // Held, whether a loss trains it or not: what has no gradient has state in Megatron's buffers all the same.
  add_norm_weights(op, "indexer_k_norm", x.head_dim, NormKind::layernorm, s);
  for (Weight& w : op.weights) w.trainable = trains_base(s);
  const bool gathers = s.tp > 1 && s.sequence_parallel;
  if (gathers) {
    add_sparse_gather(op, "indexer_input", Group::tp, z.rows * double(s.hidden) * s.e, false);
    add_sparse_gather(op, "indexer_latent", Group::tp, z.rows * double(q_in) * s.e, false);
    op.transients.push_back({"indexer_input", tensor_bytes(z.rows, double(s.hidden + q_in), s.e), Moment::forward});
  }
  if (s.cp > 1) add_sparse_gather(op, "indexer_key", Group::cp, z.keys * x.head_dim * s.e, own.train_weights);
  if (!own.train_weights) return;
  if (gathers) keep(op, s, "indexer_input", tensor_bytes(z.rows, double(s.hidden + q_in), s.e));
  keep(op, s, "indexer_key_input", tensor_bytes(z.rows, double(x.head_dim), s.e));
  keep(op, s, "index_query", tensor_bytes(z.rows, double(query), s.e));
  keep(op, s, "index_key", tensor_bytes(z.keys, double(x.head_dim), s.e));
  keep(op, s, "index_weights", tensor_bytes(z.rows, double(x.num_heads), s.e));
}

double kernel_scores(const SparseSizes& z, const Shapes& s) {
  const double row = z.keys / double(s.micro_batch) * kScoreBytes;
  if (s.dsa_kernel_backend == DsaKernelBackend::tilelang) return std::min(z.rows, kBlockRows) * row;
  return std::min(z.rows * row, kScoreChunk) + std::min(kScratchWords * z.rows * row, kChoiceScratch);
}

}  // namespace

/// Scores of every key before a query, the choice among them, and what a loss on the scores costs. Kernels make its
/// gradients in the forward pass.
Op sparse_index_op(const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  Op op = part_op("lightning_indexer", View::attention, GraphScope::attn);
  op.recomputed_by = {RecomputeModule::core_attn};
  const SparseIndexerSpec& x = *m.indexer;
  add_index_projections(op, m, z, s);
  const bool kernels = has_sparse_kernels(s), trains = trains_base(s) && s.dsa_indexer_loss;
  const double pair = 2.0 * x.num_heads * x.head_dim;
  double flops = pair * (kernels ? z.pairs : 2 * z.pairs);
  if (trains) flops += 2 * pair * z.chosen + 2.0 * double(z.absorbed) * z.chosen;
  op.forward.kernels.push_back(sparse_kernel("index_scores", flops, x.head_dim, z, s));
  add_memory(op.forward, "index_choice", kScorePasses * kScoreBytes * (kernels ? z.pairs : 2 * z.pairs * x.num_heads));
  const double passing = kernels ? kernel_scores(z, s) : kCopies * 2 * z.pairs * x.num_heads * kScoreBytes;
  op.transients.push_back({"index_scores", Bytes(std::int64_t(passing)), Moment::forward});
  const double width = kernels ? kIndexBytes : 2 * kIndexBytes;
  keep(op, s, "chosen_keys", tensor_bytes(z.rows, std::min(double(x.topk), z.keys), width));
  add_host(op.forward, kIndexerCalls, kIndexerLaunches);
  if (trains) add_host(op.backward, kIndexerCalls, kIndexerLaunches);
  return op;
}

}  // namespace shardfit::block
