// SPDX-License-Identifier: Apache-2.0
#include "shardfit/layout/job_facts.hpp"

#include <numeric>

#include "shardfit/spec/tower.hpp"

namespace shardfit {
namespace {

void read_mixer(const MixerKind& kind, JobFacts& facts) {
  if (const auto* gqa = std::get_if<GqaSpec>(&kind)) {
    facts.attention_heads = std::gcd(facts.attention_heads, gqa->num_attention_heads);
    facts.has_window = facts.has_window || gqa->sliding_window.has_value();
    facts.has_sinks = facts.has_sinks || gqa->attention_sinks;
    facts.attention_bias = facts.attention_bias || gqa->qkv_bias || gqa->o_bias;
  } else if (const auto* mla = std::get_if<MlaSpec>(&kind)) {
    facts.attention_heads = std::gcd(facts.attention_heads, mla->num_attention_heads);
    facts.has_mla = true;
    facts.has_compressed = facts.has_compressed || mla->indexer.has_value();
    facts.attention_bias = facts.attention_bias || mla->o_bias;
  } else if (const auto* gdn = std::get_if<GatedDeltaNetSpec>(&kind)) {
    facts.gdn_key_heads = std::gcd(facts.gdn_key_heads, gdn->num_key_heads);
    facts.gdn_value_heads = std::gcd(facts.gdn_value_heads, gdn->num_value_heads);
  } else if (const auto* mamba = std::get_if<Mamba2Spec>(&kind)) {
    facts.mamba_heads = std::gcd(facts.mamba_heads, mamba->num_heads);
    facts.mamba_groups = std::gcd(facts.mamba_groups, mamba->n_groups);
    const int width = 2 * mamba->num_heads * mamba->head_dim + 2 * mamba->n_groups * mamba->state_size + mamba->num_heads;
    facts.mamba_in_proj = std::gcd(facts.mamba_in_proj, width);
  } else if (const auto* mqa = std::get_if<CompressedMqaSpec>(&kind)) {
    facts.attention_heads = std::gcd(facts.attention_heads, mqa->num_attention_heads);
    facts.has_compressed = true;
  }
}

void read_mlp(const MlpKind& kind, JobFacts& facts) {
  if (const auto* dense = std::get_if<DenseMlpSpec>(&kind)) {
    facts.dense_ffn = std::gcd(facts.dense_ffn, dense->intermediate_size);
    return;
  }
  const auto& moe = std::get<MoeMlpSpec>(kind);
  facts.experts = std::gcd(facts.experts, moe.num_experts);
  facts.expert_ffn = std::gcd(facts.expert_ffn, moe.intermediate_size);
  if (moe.shared_expert) facts.shared_ffn = std::gcd(facts.shared_ffn, moe.shared_expert->intermediate_size);
  facts.expert_bias = facts.expert_bias || moe.bias;
  facts.has_latent_experts = facts.has_latent_experts || moe.latent_size.has_value();
}

/// Reads every mixer and MLP that a block names, once each.
class BlockReader {
 public:
  BlockReader(const TextSpec& text, JobFacts& facts) : text_(text), facts_(facts) {}
  void read(BlockRef block) {
    if (block.mixer >= 0 && once(block.mixer, mixers_)) read_mixer(text_.mixers[std::size_t(block.mixer)].kind, facts_);
    if (block.mlp >= 0 && once(block.mlp, mlps_)) read_mlp(text_.mlps[std::size_t(block.mlp)].kind, facts_);
  }

 private:
  /// Kinds past the width of the word are read again, which changes nothing.
  static bool once(int index, std::uint64_t& seen) {
    if (index >= 64) return true;
    const std::uint64_t bit = std::uint64_t(1) << index;
    const bool first = (seen & bit) == 0;
    seen |= bit;
    return first;
  }
  const TextSpec& text_;
  JobFacts& facts_;
  std::uint64_t mixers_ = 0, mlps_ = 0;
};

/// "2026-08-22" -> 20260822, "2026-08" -> 20260800; text that is no date counts as today's software.
int date_number(const std::string& text) {
  constexpr int kFarDay = 99991231;
  constexpr std::size_t kDigits = 8;
  int number = 0;
  std::size_t digits = 0;
  for (char c : text) {
    if (c == '-') continue;
    if (c < '0' || c > '9' || digits == kDigits) break;
    number = number * 10 + (c - '0');
    ++digits;
  }
  if (digits < 4) return kFarDay;
  for (; digits < kDigits; ++digits) number *= 10;
  return number;
}

EnumSet<RuleScope> scopes_of(const StackProfile& stack) {
  EnumSet<RuleScope> scopes{RuleScope::everywhere};
  if (stack.framework == Framework::torch_fsdp2) scopes.insert(RuleScope::torch);
  if (stack.framework != Framework::megatron) return scopes;
  scopes.insert(RuleScope::megatron);
  if (stack.entry_point == EntryPoint::megatron_lm) scopes.insert(RuleScope::megatron_lm);
  if (stack.entry_point == EntryPoint::megatron_bridge) scopes.insert(RuleScope::megatron_bridge);
  return scopes;
}

}  // namespace

JobFacts job_facts(const Job& job) {
  const TextSpec& text = job.model.text;
  JobFacts facts;
  facts.job = &job;
  facts.scopes = scopes_of(job.stack);
  facts.stack_date = date_number(job.stack.date);
  facts.gpus = job.gpus;
  facts.layers = text.num_hidden_layers;
  facts.mtp = mtp_depth(text, job.training);
  facts.global_batch = job.training.global_batch_size;
  facts.sequence = job.training.sequence_length;
  facts.max_positions = text.max_position_embeddings;
  facts.learned_positions = text.learned_positions;
  facts.vocab = text.vocab_size;
  facts.hidden = text.hidden_size;
  BlockReader reader(text, facts);
  for (BlockRef block : text.layers) reader.read(block);
  if (facts.mtp > 0 && text.mtp)
    for (BlockRef block : text.mtp->blocks) reader.read(block);
  if (runs_vision(job.model, job.training)) {
    if (tower_build(job.model, job.stack).split_over_tp) {
      facts.vision_heads = job.model.vision->num_heads;
      facts.vision_ffn = job.model.vision->intermediate_size;
    }
    if (job.model.vision->deepstack) facts.deepstack = int(job.model.vision->deepstack->vision_layer_indexes.size());
  }
  const TowerFamily family = tower_family(job.model);
  facts.no_virtual_stages = !family.virtual_stages;
  facts.whole_rows_only = !family.context_parallel;
  facts.expert_domain = job.hardware.fabric.placed_per_domain;
  return facts;
}

}  // namespace shardfit
