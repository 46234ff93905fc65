// SPDX-License-Identifier: Apache-2.0
// What a stack changes without being asked: an estimate is of the layout as stated, so it has to say so.
#include "layout/rules/rule.hpp"

namespace shardfit {
namespace {

using layout::Case;

struct Entry {
  Alteration info;
  RuleScope scope;
  bool (*applies)(const Case&);
};

bool flex(const Case& c) {
  return c.job.experts > 0 && (c.layout.dispatcher == Dispatcher::deepep || c.layout.dispatcher == Dispatcher::hybridep);
}

constexpr Entry kEntries[] = {
    {{"sequence_parallel_off", "sequence parallelism is turned off because tp is 1",
      "Megatron-LM training/arguments.py:validate_args; Megatron-Bridge models/transformer_config.py:finalize"},
     RuleScope::megatron,
     [](const Case& c) { return c.layout.sequence_parallel && c.layout.tp == 1; }},
    {{"positions_beyond_model", "the sequence is longer than the model's max_position_embeddings, which has to be raised",
      "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::everywhere,
     [](const Case& c) { return c.job.max_positions > 0 && c.job.sequence > c.job.max_positions; }},
    {{"tp_overlap_off",
      "tensor-parallel overlap is turned off: it needs tp above 1, sequence parallelism and Transformer Engine",
      "Megatron-Bridge training/comm_overlap.py"},
     RuleScope::megatron_bridge,
     [](const Case& c) {
       return c.layout.overlap.tp_comm && (c.layout.tp < 2 || !c.layout.sequence_parallel || !c.stack().transformer_engine);
     }},
    {{"rows_padded", "rows are padded to the full sequence length because pp or ep is above 1",
      "Megatron-Bridge training/config.py:validate"},
     RuleScope::megatron_bridge,
     [](const Case& c) {
       return c.training().task != Task::pretrain && c.training().packing == Packing::none &&
              (c.layout.pp > 1 || c.layout.ep > 1);
     }},
    {{"bf16_ends_unused", "layers kept in bf16 change nothing: no layer is quantised",
      "Megatron-LM core/fp8_utils.py:get_fp8_context"},
     RuleScope::megatron,
     [](const Case& c) { return c.training().first_last_layers_bf16 && !is_quantized(c.training().precision); }},
    {{"shared_overlap_off", "overlap of the shared expert is turned off for DeepEP and HybridEP",
      "Megatron-Bridge training/flex_dispatcher_backend.py"},
     RuleScope::megatron_bridge,
     [](const Case& c) { return flex(c) && c.stack().moe_shared_expert_overlap && c.job.shared_ffn > 0; }},
    {{"dispatcher_unused", "the expert dispatcher is left out: the model has no experts",
      "Megatron-Bridge training/flex_dispatcher_backend.py"},
     RuleScope::megatron,
     [](const Case& c) { return c.job.experts == 0 && c.layout.dispatcher != Dispatcher::alltoall; }},
    {{"graph_router_and_preprocess", "local graphs capture moe_router and moe_preprocess together",
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     [](const Case& c) {
       return c.layout.cuda_graph.impl == CudaGraphImpl::local &&
              c.layout.cuda_graph.scopes.contains(GraphScope::moe_router) !=
                  c.layout.cuda_graph.scopes.contains(GraphScope::moe_preprocess);
     }},
    {{"mtp_block_recompute", "full recompute by block leaves MTP layers out",
      "Megatron-LM core/transformer/multi_token_prediction.py"},
     RuleScope::megatron,
     [](const Case& c) { return c.full_recompute() && c.layout.recompute.method == RecomputeMethod::block && c.job.mtp > 0; }},
    {{"muon_layerwise", "Muon's distributed optimizer is the layer-wise one",
      "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron,
     [](const Case& c) {
       return c.training().optimizer.kind == OptimizerKind::muon && c.layout.sharding == Sharding::optimizer;
     }},
    {{"fsdp_double_buffer_on", "NCCL user buffers turn the double buffer of Megatron-FSDP on",
      "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     [](const Case& c) { return c.fsdp() && c.stack().nccl_user_buffers && !c.layout.fsdp_double_buffer; }},
    {{"fsdp_overlap_on", "Megatron-FSDP overlaps the traffic of what it shards: gradients, with parameters also their gather",
      "Megatron-LM core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py:__init__"},
     RuleScope::megatron,
     [](const Case& c) {
       const Overlap& o = c.layout.overlap;
       return c.fsdp() && (!o.grad_reduce || (c.layout.sharding == Sharding::full && !o.param_gather));
     }},
    {{"fsdp2_fp8_params_off", "torch FSDP2 gathers parameters in bf16", "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     [](const Case& c) { return c.layout.sharding == Sharding::full_torch && c.training().fp8_param_gather; }},
    {{"group_size_unused", "the micro-batch group is left out: there are no virtual stages",
      "Megatron-LM core/pipeline_parallel/schedules.py"},
     RuleScope::megatron,
     [](const Case& c) { return c.layout.vpp == 1 && c.layout.microbatch_group_size > 0; }},
    {{"cp_comm_unused", "cp_comm_type is left out: cp is 1",
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     [](const Case& c) { return c.layout.cp == 1 && c.layout.cp_comm_type != CpCommType::p2p; }},
    {{"dispatcher_sms_unused", "dispatcher_sms is left out: only DeepEP and HybridEP take a number of SMs",
      "Megatron-LM core/transformer/transformer_config.py (moe_flex_dispatcher_num_sms)"},
     RuleScope::everywhere,
     [](const Case& c) {
       const bool library = c.layout.dispatcher == Dispatcher::deepep || c.layout.dispatcher == Dispatcher::hybridep;
       return c.layout.dispatcher_sms > 0 && (!library || c.job.experts == 0);
     }},
    {{"recompute_modules_unused", "recompute modules are left out: the granularity is not selective",
      "Megatron-LM core/transformer/transformer_config.py"},
     RuleScope::everywhere,
     [](const Case& c) {
       return c.layout.recompute.granularity != RecomputeGranularity::selective && !c.layout.recompute.modules.empty();
     }},
};

}  // namespace

std::vector<Alteration> alterations(const Job& job, const Layout& layout) {
  const JobFacts facts = job_facts(job);
  const Case c = layout::make_case(facts, layout);
  std::vector<Alteration> found;
  for (const Entry& entry : kEntries)
    if (facts.scopes.contains(entry.scope) && entry.applies(c)) found.push_back(entry.info);
  return found;
}

std::vector<Alteration> all_alterations() {
  std::vector<Alteration> all;
  for (const Entry& entry : kEntries) all.push_back(entry.info);
  return all;
}

}  // namespace shardfit
