// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// Which runs a rule speaks about.
enum class RuleScope { everywhere, megatron, megatron_lm, megatron_bridge, torch, count };
template <>
inline constexpr NameList<RuleScope> kNames<RuleScope> = {"every framework", "Megatron", "Megatron-LM", "Megatron-Bridge",
                                                          "torch FSDP2"};

/// What the validity rules read of a job, as plain numbers: taken once a job, so that a rule costs a few integer
/// operations a layout. Where a model has several mixers or MLPs, a width is the greatest common divisor over those that
/// its layers use: a number divides it exactly if it divides each. 0: the model has none. Holds a pointer to the job.
struct JobFacts {
  const Job* job = nullptr;
  EnumSet<RuleScope> scopes;

  int stack_date = 0;  ///< yyyymmdd of the software; unknown parts 0; a far day if not stated
  int gpus = 1, layers = 0, mtp = 0;
  std::int64_t global_batch = 0, sequence = 0, max_positions = 0, learned_positions = 0, vocab = 0, hidden = 0;

  int attention_heads = 0, gdn_key_heads = 0, gdn_value_heads = 0, mamba_heads = 0, mamba_groups = 0, mamba_in_proj = 0;
  int dense_ffn = 0, expert_ffn = 0, shared_ffn = 0;
  int experts = 0;  ///< routed, gcd over the model's MoE kinds
  /// has_compressed: attention over compressed or over chosen keys (DeepSeek-V4, DSA).
  bool has_mla = false, has_window = false, has_sinks = false, has_compressed = false, has_latent_experts = false;
  bool expert_bias = false, attention_bias = false;

  int vision_heads = 0, vision_ffn = 0, deepstack = 0;  ///< 0 where the run has no tower
  bool no_virtual_stages = false;                       ///< the front end builds this family without virtual stages
  bool whole_rows_only = false;  ///< its class hands the decoder whole rows, not those of a context-parallel rank

  int expert_domain = 8;  ///< ranks of an NVLink domain that a job gets
};

/// `job` must outlive the facts. No allocation.
JobFacts job_facts(const Job& job);

}  // namespace shardfit
