// SPDX-License-Identifier: Apache-2.0
// Computes:   model FLOP per token, as NVIDIA's published TFLOP/s/GPU count them. Not what a run executes.
// Formula:    6 x multiply-adds of a token's forward pass: projections, half of the causal score matrix, chosen experts,
//             logits over the padded vocabulary once and once more a depth of MTP. Per kind in the functions below.
// Source:     Megatron-Bridge (067f987d) training/utils/flop_utils.py: num_floating_point_operations, read for which terms
//             count; published TFLOP/s over tokens/s agree within 0.15 %.
// Valid when: one sequence a row, or sub-sequences told by `mean_span`.
// Ignores:    by convention: recompute, the router, frozen weights, LoRA (both at 3x), padding, norms, sinks.
// Checked by: tests/oracle/model_flops_test.cpp.
#include "compute/model_flops.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "shardfit/spec/model_dims.hpp"

namespace shardfit::compute {
namespace {

constexpr double kTraining = 3;  // forward, and twice that backward
constexpr double kMultiplyAdd = 2;
constexpr double kPerMac = kTraining * kMultiplyAdd;

/// Sizes that every block kind counts with.
struct Scope {
  double hidden = 0;
  double span = 0;            ///< mean length that attention sees
  double sequence = 0;        ///< configured length
  bool indexer_loss = false;  ///< the indexer of sparse attention trains
};

/// Keys that a query sees on average under a causal mask, with a window if there is one.
double mean_context(double span, std::optional<int> window) {
  if (!window || *window >= span) return span / 2;
  const double w = *window;
  return w - w * (w - 1) / (2 * span);
}

double macs(const GqaSpec& a, const Scope& s) {
  const double d = a.head_dim, heads = a.num_attention_heads, kv_heads = a.num_key_value_heads;
  const double q_and_o = (a.output_gate ? 2 : 1) * heads * d + heads * d;
  const double kv = 2 * kv_heads * d;
  return s.hidden * (q_and_o + kv) + 2 * heads * d * mean_context(s.span, a.sliding_window);
}

/// What the lightning indexer and absorbed attention over its choice count, in place of dense attention: projections 2 FLOP a
/// weight forward and 2 backward (no gradient runs into its input), scores of every pair forward, gradients of the chosen
/// ones, and the heads' own scores of these as the loss's target.
double sparse_macs(const MlaSpec& a, const Scope& s) {
  const SparseIndexerSpec& x = *a.indexer;
  const double n = a.num_attention_heads, latent = a.kv_lora_rank, key = latent + a.qk_rope_head_dim, heads = x.num_heads;
  const double dense = (s.span + 1) / 2, k = x.topk;
  const double chosen = s.span <= k ? dense : k - k * (k - 1) / (2 * s.span);
  double sum = chosen * n * (key + latent);
  if (x.shared) return sum;
  const double weights = a.q_lora_rank.value_or(int(s.hidden)) * heads * x.head_dim + s.hidden * (x.head_dim + heads);
  const double score = heads * (x.head_dim + 1);
  double flops = (s.indexer_loss ? 4 : 2) * weights + 2 * dense * score;
  if (s.indexer_loss) flops += 4 * chosen * score + 2 * chosen * n * key;
  return sum + flops / kPerMac;
}

double macs(const MlaSpec& a, const Scope& s) {
  const double h = s.hidden, n = a.num_attention_heads;
  const double qk = a.qk_nope_head_dim + a.qk_rope_head_dim, v = a.v_head_dim, kv_rank = a.kv_lora_rank;
  const double q = a.q_lora_rank ? *a.q_lora_rank * (h + n * qk + 1) : h * n * qk;  // + 1: its norm, counted here only
  const double kv = kv_rank * (h + n * (a.qk_nope_head_dim + v) + 1) + h * a.qk_rope_head_dim;
  return q + kv + n * v * h + (a.indexer ? sparse_macs(a, s) : n * (qk + v) * s.span / 2);
}

/// Chunked delta rule: four products with a head's [v, v] state a token.
double macs(const GatedDeltaNetSpec& m, const Scope& s) {
  constexpr double kStateProducts = 4;
  const double qk = m.num_key_heads * double(m.key_head_dim), v = m.num_value_heads * double(m.value_head_dim);
  return s.hidden * (2 * qk + 2 * v + 2.0 * m.num_value_heads) + m.conv_kernel * (2 * qk + v) +
         kStateProducts * m.num_value_heads * m.value_head_dim * m.value_head_dim + s.hidden * v;
}

/// The published count takes the inner width as 2h, whatever heads x head_dim is (Nemotron-3-Nano: 5376 for
/// 4096).
double macs(const Mamba2Spec& m, const Scope& s) {
  constexpr double kScanFlopPerState = 7;
  const double inner = 2 * s.hidden;
  return s.hidden * (2 * inner + 2.0 * m.n_groups * m.state_size + m.num_heads) +
         kScanFlopPerState * inner * m.state_size / kMultiplyAdd + inner * s.hidden;
}

/// DeepSeek-V4. Windowed attention counts its whole window; over a compressed sequence: the top-k of an
/// indexer where there is one, else half of it; a compressor is two projections of a head's width, twice as
/// wide where windows overlap.
double macs(const CompressedMqaSpec& a, const Scope& s) {
  const double h = s.hidden, n = a.num_attention_heads, d = a.head_dim, q_rank = a.q_lora_rank;
  double sum = q_rank * (h + n * d + 1) + h * d + d + n * d * a.o_lora_rank + double(a.o_groups) * a.o_lora_rank * h;
  double context = a.sliding_window ? *a.sliding_window : 0;
  if (a.compress_ratio > 0) {
    const double ratio = a.compress_ratio, wide = a.compress_overlap ? 2 : 1;
    sum += 2 * h * wide * d;
    if (a.indexer) {
      const double chosen = std::min<double>(a.indexer->topk, s.sequence / ratio);
      const double heads = a.indexer->num_heads, width = a.indexer->head_dim;
      context += chosen * (1 - chosen * ratio / (2 * s.sequence));
      sum += 2 * h * wide * width + q_rank * heads * width + h * heads + heads * width * s.span / ratio;
    } else {
      context += s.span / (2 * ratio);
    }
  }
  return sum + 2 * n * d * context;
}

double macs(const DenseMlpSpec& m, const Scope& s) { return s.hidden * m.intermediate_size * (m.gated ? 3 : 2); }

double macs(const MoeMlpSpec& m, const Scope& s) {
  const double matrices = m.gated ? 3 : 2, width = m.latent_size ? *m.latent_size : s.hidden;
  double sum = double(m.num_experts_per_tok) * m.intermediate_size * matrices * width;
  if (m.latent_size) sum += 2 * s.hidden * width;
  if (m.shared_expert) sum += s.hidden * m.shared_expert->intermediate_size * matrices;
  return sum;
}

double macs(const TextSpec& text, BlockRef block, const Scope& scope) {
  const auto count = [&scope](const auto& kind) { return macs(kind, scope); };
  double sum = 0;
  if (block.mixer >= 0) sum += std::visit(count, text.mixers[std::size_t(block.mixer)].kind);
  if (block.mlp >= 0) sum += std::visit(count, text.mlps[std::size_t(block.mlp)].kind);
  return sum;
}

/// Models with Mamba layers are counted by a function of their own, which leaves out MTP's joining projection.
bool counts_as_hybrid(const TextSpec& text) {
  return std::any_of(text.mixers.begin(), text.mixers.end(),
                     [](const MixerSpec& m) { return std::holds_alternative<Mamba2Spec>(m.kind); });
}

}  // namespace

double model_flops_per_token(const Job& job, int tp, double mean_span) {
  const TextSpec& text = job.model.text;
  const double sequence = job.training.sequence_length;
  const Scope scope{double(text.hidden_size), mean_span > 0 ? mean_span : sequence, sequence, job.stack.dsa_indexer_loss};
  const int depths = mtp_depth(text, job.training);

  double sum = 0;
  for (const BlockRef block : text.layers) sum += macs(text, block, scope);
  if (depths > 0) {
    constexpr double kNorms = 3, kJoined = 2;  // norms of both inputs and of the output; [2h, h] projection
    double depth = counts_as_hybrid(text) ? 0 : kNorms * scope.hidden + kJoined * scope.hidden * scope.hidden;
    for (const BlockRef block : mtp_blocks(text)) depth += macs(text, block, scope);
    sum += depths * depth;
  }
  if (job.training.task_type != TaskType::causal_lm) return kPerMac * sum;  // no logits
  const double vocab = double(padded_vocab(text.vocab_size, job.training.vocab_padding_multiple, tp));
  sum += scope.hidden * vocab * (1 + depths);
  return kPerMac * sum;
}

/// The attention term is not halved (no mask), the MLP is counted as two matrices even where it is gated.
double vision_model_flops(const VisionSpec& vision, const VisionCount& count) {
  constexpr double kAttentionProjections = 4, kMlpMatrices = 2, kScoreProducts = 2;
  const double h = vision.hidden_size, merge = vision.merger.merge_size, merged = merge * merge * h;
  const double per_patch = kAttentionProjections * h * h + kMlpMatrices * h * vision.intermediate_size;
  const double blocks = vision.depth * (per_patch * count.patches + kScoreProducts * h * count.patches_squared);
  const double mergers = 1 + (vision.deepstack ? double(vision.deepstack->vision_layer_indexes.size()) : 0);
  const double merging = mergers * count.merged_tokens * (merged * merged + merged * vision.merger.out_hidden_size);
  return kPerMac * (blocks + merging);
}

}  // namespace shardfit::compute
