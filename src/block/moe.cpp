// SPDX-License-Identifier: Apache-2.0
// Computes:   the sizes of an MoE layer and the order of its operations; each part is in a moe_*.cpp of its own.
// Formula:    A = T*k*etp rows a rank; with a capacity factor each expert takes at most ceil(T*k/E * factor) tokens from
//             each rank, so A = min(T*k, E*capacity)*etp, or exactly E*capacity*etp padded; the busiest rank has A times
//             the stated load, unless rows are padded to capacity.
// Source:     Megatron-LM core/transformer/moe/moe_layer.py (order), moe_utils.py:get_capacity.
// Valid when: ep divides the experts, etp their width.
// Ignores:    rows padded to a multiple of 16 to 256 for quantised GEMMs (under 1 % at 1,000 rows an expert).
// Checked by: tests/block/moe_test.cpp.
#include <algorithm>
#include <cmath>

#include "block/blocks.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {

MoeSizes moe_sizes(const MoeMlpSpec& spec, const Shapes& s) {
  MoeSizes z;
  z.tokens = double(s.stream_tokens);
  z.num_experts = spec.num_experts;
  z.local_experts = spec.num_experts / s.ep;
  z.top_k = spec.num_experts_per_tok;
  z.limit = {spec.router.n_group, spec.router.topk_group};
  z.group = s.ep * s.etp;
  z.inner = spec.latent_size.value_or(int(s.hidden));
  z.width = spec.intermediate_size / s.etp;
  z.inputs = spec.gated ? 2 : 1;
  double routed = z.tokens * z.top_k;
  if (s.capacity_factor > 0) {
    const double capacity = std::ceil(routed / double(z.num_experts) * s.capacity_factor) * double(z.num_experts);
    routed = s.drop_and_pad ? capacity : std::min(routed, capacity);
  }
  z.fixed_rows = s.drop_and_pad;
  z.rows = routed * s.etp;
  z.busy_rows = z.fixed_rows ? z.rows : z.rows * s.expert_load;
  return z;
}

double rank_hits(const MoeSizes& z, const Shapes& s) {
  return s.etp * expected_parts_hit(s.ep, int(z.num_experts), z.top_k, z.limit);
}

namespace {

/// torchtitan's selective recompute lists operations that are kept: matrix products (each second one), attention,
/// collectives. A grouped product is none of them, so all that experts keep is made again but what an all-to-all brought.
/// Source: torchtitan distributed/activation_checkpoint.py (and _op_sac_save_list of models/deepseek_v3/infra before 2026).
void recompute_by_operation(OpList& ops, std::size_t first, const MoeSizes& z) {
  const bool exchanges = z.group > 1;
  for (std::size_t i = first; i < ops.size(); ++i) {
    Op& op = ops[i];
    const bool exchange = exchanges && (op.view == View::dispatch || op.view == View::combine);
    if (!exchange && op.recomputed_by.contains(RecomputeModule::moe)) op.recomputed_by.insert(RecomputeModule::mlp);
    for (Saved& t : op.saved)
      if (t.dropped_by.contains(RecomputeModule::moe)) t.dropped_by.insert(RecomputeModule::mlp);
  }
  if (!exchanges) return;
  // What the all-to-all brought stays. (So does what came back, which is not counted.)
  for (std::size_t i = first; i < ops.size(); ++i)
    for (Saved& t : ops[i].saved)
      if (std::string_view(t.name) == "expert_in") t.dropped_by = {RecomputeModule::moe};
}

}  // namespace

void append_moe(const MoeMlpSpec& spec, const Shapes& s, OpList& ops) {
  const std::size_t first = ops.size();
  const MoeSizes sizes = moe_sizes(spec, s);
  if (spec.separate_norms) append_input_norms(spec, sizes, s, ops);
  ops.push_back(router_op(spec, sizes, s));
  ops.push_back(preprocess_op(sizes, s));
  if (spec.latent_size) ops.push_back(latent_down_op(sizes, s));
  ops.push_back(dispatch_op(sizes, s));
  append_experts(spec, sizes, s, ops);
  ops.push_back(combine_op(sizes, s));
  if (spec.latent_size) ops.push_back(latent_up_op(sizes, s));
  if (spec.shared_expert) append_shared_expert(spec, s, ops);
  if (spec.separate_norms) append_output_norms(spec, s, ops);
  if (s.recompute_by_operation) recompute_by_operation(ops, first, sizes);
}

}  // namespace shardfit::block
