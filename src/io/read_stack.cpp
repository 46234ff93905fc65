// SPDX-License-Identifier: Apache-2.0
#include "io/read_stack.hpp"

#include "io/data_dir.hpp"
#include "io/load.hpp"

namespace shardfit::io {
namespace {

std::optional<double> find_number(Object& o, const char* key, std::optional<double> otherwise) {
  const auto v = o.find(key);
  return v ? std::optional<double>(v->as_number(0)) : otherwise;
}

/// attention_backend is Megatron's flag: auto leaves the choice to Transformer Engine, so says nothing.
void read_attention(Object& o, StackProfile& p) {
  if (const auto v = o.find("attention_backend")) {
    const std::string text = v->as_text();
    if (const auto kernel = parse_name<AttentionKernel>(text))
      p.attention_kernel = *kernel;
    else if (text == "local")
      p.attention_kernel = AttentionKernel::unfused;
    else if (text != "auto")
      v->refuse_word(text, {"auto", "flash", "fused", "unfused", "local"});
  }
  p.attention_kernel = o.get("attention_kernel", p.attention_kernel);
}

void read_gradient_sync(Object& o, StackProfile& p) {
  const auto v = o.find("gradient_sync");
  if (!v) return;
  const std::string text = v->as_text();
  if (text != "every_microbatch" && text != "last_microbatch") v->refuse_word(text, {"every_microbatch", "last_microbatch"});
  p.gradient_sync_every_microbatch = text == "every_microbatch";
}

void read_transformer_impl(Object& o, StackProfile& p) {
  const auto v = o.find("transformer_impl");
  if (!v) return;
  const std::string text = v->as_text();
  if (text != "transformer_engine" && text != "local") v->refuse_word(text, {"transformer_engine", "local"});
  p.transformer_engine = text == "transformer_engine";
}

/// Every switch that a run or a profile may state, over what is already there.
StackProfile read_switches(Object& o, StackProfile p) {
  p.framework = o.get("framework", p.framework);
  p.entry_point = o.get("entry_point", p.entry_point);
  read_attention(o, p);
  p.dsa_kernel_backend = o.get("dsa_kernel_backend", p.dsa_kernel_backend);
  p.dsa_indexer_loss = o.get("dsa_indexer_loss", p.dsa_indexer_loss);
  p.cross_entropy = o.get("cross_entropy", p.cross_entropy);
  p.attention_mask_in_batch = o.get("attention_mask_in_batch", p.attention_mask_in_batch);
  read_transformer_impl(o, p);
  p.grad_accumulation_fusion = o.get("grad_accumulation_fusion", p.grad_accumulation_fusion);
  if (const auto v = o.find("placeholder_weight_grads")) p.placeholder_weight_grads = v->as_bool();
  p.torch_cublas_workspace_mib = find_number(o, "torch_cublas_workspace_mib", p.torch_cublas_workspace_mib);
  p.te_workspace_mib = find_number(o, "te_workspace_mib", p.te_workspace_mib);
  p.grouped_gemm_workspace_mib = find_number(o, "grouped_gemm_workspace_mib", p.grouped_gemm_workspace_mib);
  p.resident_microbatches_mib = o.get("resident_microbatches_mib", p.resident_microbatches_mib, 0.0);
  p.grouped_gemm = o.get("grouped_gemm", p.grouped_gemm);
  p.permute_fusion = o.get("permute_fusion", p.permute_fusion);
  p.router_fusion = o.get("router_fusion", p.router_fusion);
  p.expandable_segments = o.get("expandable_segments", p.expandable_segments);
  p.deferred_embedding_wgrad = o.get("deferred_embedding_wgrad", p.deferred_embedding_wgrad);
  if (const auto v = o.find("wgrad_deferral_limit")) p.wgrad_deferral_limit = v->as_int(0);
  p.moe_shared_expert_overlap = o.get("moe_shared_expert_overlap", p.moe_shared_expert_overlap);
  p.paged_stash = o.get("paged_stash", p.paged_stash);
  p.expert_rank_capacity_factor = o.get("expert_rank_capacity_factor", p.expert_rank_capacity_factor, 0.0);
  p.fused_grouped_mlp = o.get("fused_grouped_mlp", p.fused_grouped_mlp);
  p.nccl_user_buffers = o.get("nccl_user_buffers", p.nccl_user_buffers);
  p.use_sharp = o.get("use_sharp", p.use_sharp);
  p.vision_pads_when_ep = o.get("vision_pads_when_ep", p.vision_pads_when_ep);
  p.vision_dp_when_cp = o.get("vision_dp_when_cp", p.vision_dp_when_cp);
  read_gradient_sync(o, p);
  p.reshard_after_forward = o.get("reshard_after_forward", p.reshard_after_forward);
  if (const auto v = o.find("align_param_gather")) p.align_param_gather = v->as_bool();
  p.chunked_cross_entropy = o.get("chunked_cross_entropy", p.chunked_cross_entropy);
  if (const auto v = o.find("deepep_version")) p.deepep_version = v->as_int(1, 2);
  p.eager_elementwise = o.get("eager_elementwise", p.eager_elementwise);
  p.layerwise_whole_tensors = o.get("layerwise_whole_tensors", p.layerwise_whole_tensors);
  p.te_fp32_loss_gradient = o.get("te_fp32_loss_gradient", p.te_fp32_loss_gradient);
  p.eager_loss = o.get("eager_loss", p.eager_loss);
  p.one_hot_loss = o.get("one_hot_loss", p.one_hot_loss);
  p.parameter_transpose_cache = o.get("parameter_transpose_cache", p.parameter_transpose_cache);
  return p;
}

std::optional<DType> read_dtype(Object& o, const char* key) {
  const Value v = o.at(key);
  if (v.is_text() && v.as_text() == "parameters") return std::nullopt;
  return v.as_enum<DType>();
}

StackDefaults read_defaults(const Value& value) {
  Object o(value);
  StackDefaults d;
  const Value etp = o.at("etp");
  if (etp.as_text() != "tp" && etp.as_text() != "one") etp.refuse_word(etp.as_text(), {"tp", "one"});
  d.etp_is_tp = etp.as_text() == "tp";
  const Value sp = o.at("sequence_parallel");
  using Sp = StackDefaults::SequenceParallel;
  if (sp.as_text() == "off")
    d.sequence_parallel = Sp::off;
  else if (sp.as_text() == "with_tp")
    d.sequence_parallel = Sp::with_tp;
  else if (sp.as_text() == "with_tp_moe")
    d.sequence_parallel = Sp::with_tp_moe;
  else
    sp.refuse_word(sp.as_text(), {"off", "with_tp", "with_tp_moe"});
  d.sharding = o.at("sharding").as_enum<Sharding>();
  d.gradient_dtype = read_dtype(o, "gradient_dtype");
  d.optimizer_dtype = read_dtype(o, "optimizer_dtype");
  d.vocab_padding_multiple = o.at("vocab_padding_multiple").as_int(1);
  d.routing = o.at("routing").as_enum<Routing>();
  d.dispatcher = o.at("dispatcher").as_enum<Dispatcher>();
  d.overlap_grad_reduce = o.at("overlap_grad_reduce").as_bool();
  d.overlap_param_gather = o.at("overlap_param_gather").as_bool();
  d.visual_tokens_per_image = o.at("visual_tokens_per_image").as_number(1);
  d.visual_spread = o.at("visual_spread").as_number(0);
  o.done();
  return d;
}

}  // namespace

Stack find_stack(const std::string& name, const Place& asked) {
  const std::string path = find_data("stacks", name, asked);
  const Json json = parse_json_file(path);
  Object o(Value(json, {path, ""}));
  Stack stack;
  Object switches(o.at("switches"));
  stack.profile = read_switches(switches, StackProfile{});
  switches.done();
  stack.profile.name = o.at("name").as_text();
  stack.profile.date = o.at("date").as_text();
  stack.profile.source = o.at("source").as_text();
  stack.defaults = read_defaults(o.at("defaults"));
  o.done();
  return stack;
}

Stack read_stack(const std::optional<Value>& value, const std::string& otherwise) {
  if (!value) return find_stack(otherwise, {});
  if (value->is_text()) return find_stack(value->as_text(), value->place());
  Object o(*value);
  const auto profile = o.find("profile");
  Stack stack = profile ? find_stack(profile->as_text(), profile->place()) : find_stack(otherwise, {});
  stack.profile = read_switches(o, stack.profile);
  o.ignore("software");
  o.done();
  return stack;
}

StackProfile load_stack(const std::string& name_or_path) { return find_stack(name_or_path, {"", "stack"}).profile; }

}  // namespace shardfit::io
