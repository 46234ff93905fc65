// SPDX-License-Identifier: Apache-2.0
#include "io/axes.hpp"

#include <algorithm>

#include "io/model_kinds.hpp"
#include "io/split_axis.hpp"

namespace shardfit::io {
namespace {

// Bounds of "all". Each is wider than any published recipe; a scenario that wants more lists its values.
constexpr int kLeastRowTokens = 1024;  ///< below this a rank's slice is launch-bound
constexpr int kMostChunks = 12;
constexpr int kMostExpertTp = 8;
constexpr int kMostMicroBatch = 16;
constexpr int kMostInstances = 8;
constexpr int kBlockLayerCounts[] = {1, 2, 4, 8, 16};  ///< layers a chunk, recompute method block

std::vector<int> divisors(int n, int most) {
  std::vector<int> found;
  for (int d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) found.push_back(d);
  return found;
}

template <class Keep>
std::vector<int> kept(std::vector<int> values, Keep keep) {
  std::erase_if(values, [&](int v) { return !keep(v); });
  return values;
}

int heads_of(const MixerKind& mixer) {
  if (const auto* m = std::get_if<GqaSpec>(&mixer)) return m->num_attention_heads;
  if (const auto* m = std::get_if<MlaSpec>(&mixer)) return m->num_attention_heads;
  if (const auto* m = std::get_if<CompressedMqaSpec>(&mixer)) return m->num_attention_heads;
  if (const auto* m = std::get_if<GatedDeltaNetSpec>(&mixer)) return m->num_value_heads;
  return std::get<Mamba2Spec>(mixer).num_heads;
}

int layers_of(const Job& job) { return job.model.text.num_hidden_layers; }

EnumSet<RecomputeModule> modules_of(const Job& job) {
  const ModelKinds kinds = kinds_of(job.model);
  EnumSet<RecomputeModule> modules{RecomputeModule::layernorm};
  if (kinds.attention) modules.insert(RecomputeModule::core_attn);
  if (kinds.moe) modules.insert(RecomputeModule::moe_act);
  if (kinds.mla) modules.insert(RecomputeModule::mla_up_proj);
  if (kinds.dense_mlp) modules.insert(RecomputeModule::mlp);
  if (kinds.moe) modules.insert(RecomputeModule::moe);
  if (kinds.shared_experts) modules.insert(RecomputeModule::shared_experts);
  if (kinds.gated_delta_net) modules.insert(RecomputeModule::gdn_norm_out);
  return modules;
}

/// `moe` re-runs the whole MoE layer, so the activation and the shared experts inside it add nothing.
bool is_alias(EnumSet<RecomputeModule> set) {
  return set.contains(RecomputeModule::moe) && set.intersects({RecomputeModule::moe_act, RecomputeModule::shared_experts});
}

Recompute full(RecomputeMethod method, int layers) {
  Recompute r;
  r.granularity = RecomputeGranularity::full;
  r.method = method;
  r.num_layers = layers;
  return r;
}

CudaGraph scoped(EnumSet<GraphScope> scopes) { return {CudaGraphImpl::transformer_engine, scopes}; }

}  // namespace

std::vector<int> all_tp(const Job& job) {
  return kept(divisors(job.gpus, job.hardware.fabric.placed_per_domain), [&](int tp) {
    return std::all_of(job.model.text.mixers.begin(), job.model.text.mixers.end(),
                       [&](const MixerSpec& m) { return heads_of(m.kind) % tp == 0; });
  });
}

std::vector<int> all_cp(const Job& job) {
  return divisors(job.gpus, std::max(1, job.training.sequence_length / kLeastRowTokens));
}

std::vector<int> all_pp(const Job& job) { return divisors(job.gpus, layers_of(job)); }

std::vector<int> all_vpp(const Job& job, const std::vector<int>& pp) {
  std::vector<int> found;
  for (int vpp = 1; vpp <= kMostChunks; ++vpp)
    if (vpp == 1 || std::any_of(pp.begin(), pp.end(), [&](int p) { return p > 1 && chunks_divide(layers_of(job), p, vpp); }))
      found.push_back(vpp);
  return found;
}

std::vector<int> all_ep(const Job& job) {
  return kept(divisors(job.gpus, std::max(1, kinds_of(job.model).most_experts)), [&](int ep) {
    return std::all_of(job.model.text.mlps.begin(), job.model.text.mlps.end(), [&](const MlpSpec& m) {
      const auto* moe = std::get_if<MoeMlpSpec>(&m.kind);
      return moe == nullptr || moe->num_experts % ep == 0;
    });
  });
}

std::vector<int> all_etp(const Job& job) {
  return kinds_of(job.model).moe ? divisors(job.gpus, kMostExpertTp) : std::vector<int>{1};
}

std::vector<int> all_micro_batch_sizes(const Job& job) {
  std::vector<int> found{1};
  for (int b = 2; b <= kMostMicroBatch; b *= 2)
    if (job.training.global_batch_size % b == 0) found.push_back(b);
  return found;
}

std::vector<Recompute> all_recompute(const Job& job) {
  std::vector<Recompute> found{Recompute{}};
  const EnumSet<RecomputeModule> have = modules_of(job);
  for (std::uint32_t bits = 1; bits <= have.bits(); ++bits) {
    const auto set = EnumSet<RecomputeModule>::from_bits(bits);
    if (!have.contains_all(set) || is_alias(set)) continue;
    Recompute r;
    r.granularity = RecomputeGranularity::selective;
    r.modules = set;
    found.push_back(r);
  }
  for (int layers : kBlockLayerCounts)
    if (layers < layers_of(job)) found.push_back(full(RecomputeMethod::block, layers));
  found.push_back(full(RecomputeMethod::uniform, 1));
  return found;
}

std::vector<Sharding> all_sharding(const Job& job) {
  if (job.stack.framework != Framework::megatron) return {Sharding::full_torch};
  if (job.training.optimizer.kind == OptimizerKind::muon) return {Sharding::none, Sharding::layerwise};
  return {Sharding::none, Sharding::optimizer, Sharding::optimizer_grads, Sharding::full};
}

std::vector<Dispatcher> all_dispatchers(const Job& job) {
  if (!kinds_of(job.model).moe) return {Dispatcher::alltoall};
  return {Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep};
}

std::vector<CudaGraph> all_cuda_graphs(const Job& job) {
  const ModelKinds kinds = kinds_of(job.model);
  std::vector<CudaGraph> found{CudaGraph{}};
  EnumSet<GraphScope> mixers, all;
  if (kinds.attention || kinds.gated_delta_net) mixers.insert(GraphScope::attn);
  if (kinds.mamba) mixers.insert(GraphScope::mamba);
  if (kinds.moe) found.push_back(scoped({GraphScope::moe_router, GraphScope::moe_preprocess}));
  found.push_back(scoped(mixers));
  all = mixers;
  if (kinds.dense_mlp) {
    all.insert(GraphScope::mlp);
    found.push_back(scoped(all));
  }
  if (kinds.moe) {
    all.insert(GraphScope::moe_router);
    found.push_back(scoped(all));
    all.insert(GraphScope::moe_preprocess);
    found.push_back(scoped(all));
  }
  found.push_back({CudaGraphImpl::full_iteration, {}});
  return found;
}

std::vector<bool> all_expert_overlap(const Job& job) {
  return kinds_of(job.model).moe ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

std::vector<int> all_optimizer_instances(const Job& job) {
  return kept(divisors(job.gpus, kMostInstances), [](int n) { return (n & (n - 1)) == 0; });
}

}  // namespace shardfit::io
