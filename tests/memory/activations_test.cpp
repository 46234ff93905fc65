// SPDX-License-Identifier: Apache-2.0
#include "memory/activations.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::memory;

namespace {

constexpr std::int64_t kM = kMiB;

/// A block with an attention and an expert operation; sizes in MiB are easy to tell apart.
block::OpList sample_block() {
  block::Op attention;
  attention.view = block::View::attention;
  attention.scope = GraphScope::attn;
  attention.saved = {{"in", Bytes(8 * kM), {}, {}, false},
                     {"qkv", Bytes(30 * kM), {RecomputeModule::mla_up_proj}, OffloadModule::core_attn, false},
                     {"statistics", Bytes(kM), {}, OffloadModule::core_attn, false}};
  attention.transients = {{"a", Bytes(5 * kM), block::Moment::forward, {}}, {"b", Bytes(4 * kM), block::Moment::backward, {}}};
  block::Op experts;
  experts.view = block::View::experts;
  experts.saved = {{"rows", Bytes(100 * kM), {}, {}, true},
                   {"activation", Bytes(50 * kM), {RecomputeModule::moe_act, RecomputeModule::moe}, {}, true}};
  experts.transients = {{"c", Bytes(6 * kM), block::Moment::backward, Bytes(6 * kM)},
                        {"d", Bytes(3 * kM), block::Moment::backward, {}}};
  return {attention, experts};
}

ProfileOptions options() {
  ProfileOptions o;
  o.block_input = Bytes(8 * kM);
  return o;
}

}  // namespace

TEST_CASE("a block keeps all of its tensors, each in its term") {
  const ActivationProfile p = activation_profile(sample_block(), options());
  CHECK(p.saved[MemoryTerm::saved_attention] == Bytes(39 * kM));
  CHECK(p.saved[MemoryTerm::saved_experts] == Bytes(150 * kM));
  CHECK(p.saved_total() == Bytes(189 * kM));
  CHECK(p.routed == Bytes(150 * kM));
  CHECK(p.recompute_working_set == Bytes(0));
}

TEST_CASE("the dearest operation's transients count together") {
  const ActivationProfile p = activation_profile(sample_block(), options());
  CHECK(p.forward_transient == Bytes(5 * kM));
  CHECK(p.backward_transient == Bytes(9 * kM));
  CHECK(p.routed_backward == Bytes(6 * kM));
  CHECK(p.routed_forward == Bytes(0));
}

TEST_CASE("selective recompute moves what its modules drop to the working set") {
  ProfileOptions o = options();
  o.recompute.granularity = RecomputeGranularity::selective;
  o.recompute.modules = {RecomputeModule::moe_act, RecomputeModule::mla_up_proj};
  const ActivationProfile p = activation_profile(sample_block(), o);
  CHECK(p.saved_total() == Bytes(109 * kM));
  CHECK(p.recompute_working_set == Bytes(80 * kM));
  CHECK(p.routed_working_set == Bytes(50 * kM));
  o.recompute.modules = {RecomputeModule::layernorm};  // drops nothing here
  CHECK(activation_profile(sample_block(), o).saved_total() == Bytes(189 * kM));
}

TEST_CASE("full recompute keeps the input alone and makes the rest again") {
  ProfileOptions o = options();
  o.recompute.granularity = RecomputeGranularity::full;
  const ActivationProfile p = activation_profile(sample_block(), o);
  CHECK(p.saved[MemoryTerm::saved_checkpoints] == Bytes(8 * kM));
  CHECK(p.saved_total() == options().block_input);
  CHECK(p.saved_total() + p.recompute_working_set == Bytes(189 * kM));
  CHECK(p.routed == Bytes(0));
  CHECK(p.routed_working_set == Bytes(150 * kM));
}

TEST_CASE("modules are ignored unless recompute is selective") {
  ProfileOptions o = options();
  o.recompute.modules = {RecomputeModule::moe};
  CHECK(activation_profile(sample_block(), o).saved_total() == Bytes(189 * kM));
}

TEST_CASE("offload moves large tensors of its scopes and leaves small ones") {
  ProfileOptions o = options();
  o.offloaded = {OffloadModule::core_attn};
  const ActivationProfile p = activation_profile(sample_block(), o);
  CHECK(p.offloaded == Bytes(30 * kM));
  CHECK(p.saved_total() == Bytes(159 * kM));
}

TEST_CASE("a folded block goes to one term") {
  ProfileOptions o = options();
  o.fold = MemoryTerm::saved_mtp;
  const ActivationProfile p = activation_profile(sample_block(), o);
  CHECK(p.saved[MemoryTerm::saved_mtp] == Bytes(189 * kM));
  CHECK(p.saved[MemoryTerm::saved_attention] == Bytes(0));
}

TEST_CASE("graphs hold what their scopes save") {
  const ScopedBytes saved = activation_profile(sample_block(), options()).scoped;
  CHECK(saved.held_by({CudaGraphImpl::transformer_engine, {GraphScope::attn}}) == Bytes(39 * kM));
  CHECK(saved.held_by({CudaGraphImpl::transformer_engine, {GraphScope::mlp}}) == Bytes(0));
  CHECK(saved.held_by({CudaGraphImpl::local, {}}) == Bytes(189 * kM));  // per-layer graphs of everything
  CHECK(saved.held_by({CudaGraphImpl::local, {GraphScope::attn}}) == Bytes(39 * kM));
  CHECK(saved.held_by({CudaGraphImpl::full_iteration, {}}) == Bytes(0));
  CHECK(saved.held_by({}) == Bytes(0));
}

TEST_CASE("full recompute splits the layers of a chunk") {
  Recompute r;
  CHECK(checkpointed_layers(r, 12).plain == 12);
  r.granularity = RecomputeGranularity::full;
  r.num_layers = 5;
  CheckpointedLayers uniform = checkpointed_layers(r, 12);
  CHECK(uniform.checkpoints == 3);
  CHECK(uniform.plain == 0);
  CHECK(uniform.rerun == 5);
  r.method = RecomputeMethod::block;
  CheckpointedLayers first_five = checkpointed_layers(r, 12);
  CHECK(first_five.checkpoints == 5);
  CHECK(first_five.plain == 7);
  CHECK(first_five.rerun == 1);
  r.num_layers = 40;  // more than there are
  CHECK(checkpointed_layers(r, 12).checkpoints == 12);
  CHECK(checkpointed_layers(r, 0).checkpoints == 0);
}

TEST_CASE("every module view has a saved term") {
  for (std::size_t v = 0; v < kCount<block::View>; ++v) CHECK(saved_term(block::View(v)) != MemoryTerm::unmodelled);
}
