// SPDX-License-Identifier: Apache-2.0
// What the DeepEP and HybridEP libraries can do.
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kHybridEp = "DeepEP, branch hybrid-ep, BufferConfig and csrc/hybrid_ep";

/// Group sizes for which DeepEP ships a dispatch and a combine configuration.
/// Source: DeepEP deep_ep/buffers/legacy.py, get_dispatch_config and get_combine_config.
constexpr std::array kDeepEpRanks = {2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160};

// Limits of HybridEP. Source: DeepEP branch hybrid-ep, BufferConfig and the kernels' static assertions.
constexpr int kHybridEpHiddenMultiple = 16;          // bf16 rows are moved 16 elements at a time
constexpr int kHybridEpExpertMultiple = 4;           // local experts times ranks of a domain
constexpr int kHybridEpDomainRanks = 72;             // ranks of one NVLink domain
constexpr std::int64_t kHybridEpIndexLimit = 65536;  // 3 * tokens + 1 is kept in 16 bits when domains are crossed
constexpr std::int64_t kHybridEpIndicesPerToken = 3;

bool deepep(const Case& c) { return c.job.experts > 0 && c.layout.dispatcher == Dispatcher::deepep; }
bool hybridep(const Case& c) { return c.job.experts > 0 && c.layout.dispatcher == Dispatcher::hybridep; }

/// Ranks of an expert group that share an NVLink domain.
int domain_ranks(const Case& c) { return std::min(c.expert_group(), std::max(1, c.job.expert_domain)); }

/// Tokens that a rank brings to the dispatcher.
std::int64_t tokens(const Case& c) {
  const int shards = c.layout.cp * (c.layout.sequence_parallel ? c.layout.tp : 1);
  return c.job.sequence * c.layout.micro_batch_size / shards;
}

Finding deepep_ranks(const Case& c) {
  if (!deepep(c) || c.expert_group() == 1) return kPass;
  const auto* nearest = std::lower_bound(kDeepEpRanks.begin(), kDeepEpRanks.end(), c.expert_group());
  if (nearest == kDeepEpRanks.end()) return {true, c.expert_group(), kDeepEpRanks.back()};
  return equals(c.expert_group(), *nearest);
}

constexpr Rule kRules[] = {
    {{"deepep_group", "moe", "DeepEP needs ep * etp of at least 2", "ep * etp", "least", RuleSource::megatron_core,
      "Megatron-LM core/transformer/moe/token_dispatcher.py:MoEFlexTokenDispatcher"},
     RuleScope::megatron,
     {Axis::ep},
     Reads{On::ep, On::etp, On::dispatcher},
     [](const Case& c) { return deepep(c) ? at_least(c.expert_group(), 2) : kPass; }},
    {{"deepep_ranks", "moe", "DeepEP has a configuration for ep * etp ranks", "ep * etp", "next configured size",
      RuleSource::deepep, "DeepEP deep_ep/buffers/legacy.py:get_dispatch_config, get_combine_config"},
     RuleScope::everywhere,
     {Axis::ep, Axis::etp},
     Reads{On::ep, On::etp, On::dispatcher},
     deepep_ranks},
    {{"deepep_padding", "moe", "DeepEP excludes pad_to_capacity", "pad_to_capacity", "allowed", RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher},
     [](const Case& c) { return none_of(deepep(c), c.training().pad_to_capacity); }},
    {{"deepep_gpu", "moe", "Bridge runs DeepEP on Ampere, Hopper, B200 and B300, not on GB200 and GB300", "Grace-attached",
      "allowed", RuleSource::megatron_bridge,
      "Megatron-Bridge training/flex_dispatcher_backend.py:validate_flex_dispatcher_backend"},
     RuleScope::megatron_bridge,
     {},
     Reads{On::dispatcher},
     [](const Case& c) {
       const HardwareSpec& hardware = c.job.job->hardware;
       const bool grace_blackwell = hardware.gpu.generation == GpuGeneration::blackwell && hardware.node.cpu == HostCpu::grace;
       return none_of(deepep(c), grace_blackwell);
     }},
    {{"hybridep_group", "moe", "HybridEP has something to dispatch: ep * etp is at least 2", "ep * etp", "least",
      RuleSource::shardfit, "with one rank it is the alltoall dispatcher without traffic"},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep, On::etp, On::dispatcher},
     [](const Case& c) { return hybridep(c) ? at_least(c.expert_group(), 2) : kPass; }},
    {{"hybridep_hidden", "moe", "HybridEP: the width of a dispatched row is a multiple of 16", "multiple",
      "hidden or latent size", RuleSource::deepep, kHybridEp},
     RuleScope::everywhere,
     {},
     Reads{On::dispatcher},
     [](const Case& c) { return hybridep(c) ? divides(kHybridEpHiddenMultiple, c.job.hidden) : kPass; }},
    {{"hybridep_domain", "moe", "HybridEP: the ranks of an NVLink domain divide ep * etp", "ranks of a domain", "ep * etp",
      RuleSource::deepep, kHybridEp},
     RuleScope::everywhere,
     {Axis::ep, Axis::etp},
     Reads{On::ep, On::etp, On::dispatcher},
     [](const Case& c) { return hybridep(c) ? divides(domain_ranks(c), c.expert_group()) : kPass; }},
    {{"hybridep_domain_ranks", "moe", "HybridEP: a domain has at most 72 ranks", "ranks of a domain", "most",
      RuleSource::deepep, kHybridEp},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep, On::etp, On::dispatcher},
     [](const Case& c) { return hybridep(c) ? at_most(domain_ranks(c), kHybridEpDomainRanks) : kPass; }},
    {{"hybridep_experts", "moe", "HybridEP: local experts times ranks of a domain are a multiple of 4", "multiple",
      "local experts * ranks", RuleSource::deepep, kHybridEp},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep, On::etp, On::dispatcher},
     [](const Case& c) {
       if (!hybridep(c) || c.job.experts % c.layout.ep != 0) return kPass;
       return divides(kHybridEpExpertMultiple, std::int64_t(c.job.experts / c.layout.ep) * domain_ranks(c));
     }},
    {{"hybridep_tokens", "moe", "HybridEP over several domains: 3 * tokens of a rank + 1 is below 65536", "3 * tokens + 1",
      "most", RuleSource::deepep, kHybridEp},
     RuleScope::everywhere,
     {Axis::micro_batch_size, Axis::cp, Axis::ep},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::dispatcher},
     [](const Case& c) {
       if (!hybridep(c) || domain_ranks(c) == c.expert_group()) return kPass;
       return at_most(kHybridEpIndicesPerToken * tokens(c) + 1, kHybridEpIndexLimit - 1);
     }},
};

}  // namespace

std::span<const Rule> dispatcher_rules() { return kRules; }

}  // namespace shardfit::layout
