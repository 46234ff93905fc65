// SPDX-License-Identifier: Apache-2.0
#include "io/read_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/layout_words.hpp"
#include "io/model_kinds.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::io {
namespace {

using Notes = std::vector<std::string>;

Overlap read_overlap(Object& layout, const StackDefaults& defaults) {
  const auto v = layout.find("overlap");
  Object o = v ? Object(*v) : Object::empty(layout.place().down("overlap"));
  Overlap s;
  s.grad_reduce = o.get("grad_reduce", defaults.overlap_grad_reduce);
  s.param_gather = o.get("param_gather", defaults.overlap_param_gather);
  s.tp_comm = o.get("tp_comm", false);
  s.expert_alltoall = o.get("expert_alltoall", false);
  s.delay_wgrad = o.get("delay_wgrad", false);
  o.done();
  return s;
}

Offload read_offload(Object& layout) {
  Offload s;
  const auto v = layout.find("offload");
  if (!v) return s;
  Object o(*v);
  s.optimizer_fraction = o.get("optimizer_fraction", 0.0, 0.0, 1.0);
  if (const auto optimizer = o.find("optimizer")) {
    Object f(*optimizer);
    s.optimizer_fraction = f.get("fraction", 1.0, 0.0, 1.0);
    f.ignore("overlap");
    f.done();
  }
  if (const auto modules = o.find("activation_modules")) s.activation_modules = modules->as_enum_set<OffloadModule>();
  if (const auto activation = o.find("activation")) {
    if (activation->is_text()) activation->refuse("{\"layerwise_num_layers\": n} or {\"fine_grained_modules\": [names]}");
    Object a(*activation);
    s.activation_layers = a.get("layerwise_num_layers", 0, 0);
    if (const auto modules = a.find("fine_grained_modules")) s.activation_modules = modules->as_enum_set<OffloadModule>();
    a.done();
  }
  o.done();
  return s;
}

/// The ways a layout block may state its pipeline split are flat fields, as Megatron's flags are. Fields of a
/// second way are kept beside the first, for the layout rules to refuse.
PipelineSplit read_flat_split(Object& o) {
  PipelineSplit s;
  const auto layout_string = o.find("pipeline_layout");
  const auto hybrid = o.find("hybrid_pattern");
  s.first_stage_layers = o.get("first_stage_layers", 0, 1);
  s.last_stage_layers = o.get("last_stage_layers", 0, 1);
  s.account_for_embedding = o.get("account_for_embedding", false);
  s.account_for_loss = o.get("account_for_loss", false);
  if (layout_string) {
    s.kind = SplitKind::layout_string;
    s.text = layout_string->as_text();
  } else if (hybrid) {
    s.kind = SplitKind::hybrid_pattern;
    s.text = hybrid->as_text();
  } else if (s.first_stage_layers > 0 || s.last_stage_layers > 0) {
    s.kind = SplitKind::first_last;
  } else if (s.account_for_embedding || s.account_for_loss) {
    s.kind = SplitKind::accounting;
  }
  return s;
}

bool default_sequence_parallel(const LayoutContext& c) {
  using Sp = StackDefaults::SequenceParallel;
  if (c.stack.defaults.sequence_parallel == Sp::off) return false;
  return c.stack.defaults.sequence_parallel == Sp::with_tp || kinds_of(c.model).moe;
}

/// torchtitan splits experts over tp where it has no expert parallelism (its TensorParallel plan of experts), and
/// not otherwise. Kind: assumed.
int default_etp(const Stack& stack, const Layout& l) {
  const bool torch_without_ep = stack.profile.entry_point == EntryPoint::torch_tools && l.ep == 1;
  return stack.defaults.etp_is_tp || torch_without_ep ? l.tp : 1;
}

/// The ring serves neither windows nor compressed or chosen keys: a model that has them runs with what does.
CpCommType default_cp_comm_type(const ModelSpec& model) {
  CpCommType type = CpCommType::p2p;
  for (const MixerSpec& m : model.text.mixers) {
    if (std::holds_alternative<CompressedMqaSpec>(m.kind)) return CpCommType::all_gather;
    const auto* mla = std::get_if<MlaSpec>(&m.kind);
    if (mla && mla->indexer) return CpCommType::all_gather;
    const auto* gqa = std::get_if<GqaSpec>(&m.kind);
    if (gqa && (gqa->sliding_window || gqa->attention_sinks)) type = CpCommType::a2a;
  }
  return type;
}

void refuse_searched(Object& o, const std::set<std::string>& searched) {
  for (const std::string& axis : searched)
    if (const auto v = o.find(axis)) v->refuse("this field here or in /search, not in both");
}

}  // namespace

PipelineSplit read_split(const Value& value) {
  if (value.is_text()) return split_of(value.place(), value.as_text());
  Object o(value);
  const PipelineSplit s = read_flat_split(o);
  o.done();
  return s;
}

Dispatcher read_dispatcher(const Value& value) {
  if (value.is_text() && value.as_text() == "flex") return Dispatcher::deepep;  // Megatron's flex without a backend
  return value.as_enum<Dispatcher>();
}

Sharding read_sharding(const Value& value, Framework framework) {
  const Sharding s = value.as_enum<Sharding>();
  return s == Sharding::full && framework != Framework::megatron ? Sharding::full_torch : s;
}

bool sequence_parallel_above_tp_1(const Value& value, Object* assumed, const LayoutContext& c) {
  Object o(value);
  if (assumed != nullptr) o.overlay(*assumed);
  return o.get("sequence_parallel", default_sequence_parallel(c));
}

Assumed<Layout> read_layout(const Value& value, Object* assumed, const LayoutContext& c) {
  Object o(value);
  if (assumed != nullptr) o.overlay(*assumed);
  Notes notes;
  refuse_searched(o, c.searched);
  const auto searched = [&](const char* axis) { return c.searched.contains(axis); };

  Layout l;
  l.tp = o.get("tp", 1, 1, c.gpus);
  l.cp = o.get("cp", 1, 1, c.gpus);
  l.pp = o.get("pp", 1, 1, c.gpus);
  l.vpp = o.get("vpp", 1, 1, 1000);
  l.ep = o.get("ep", 1, 1, c.gpus);
  const bool moe = kinds_of(c.model).moe;
  const int etp = default_etp(c.stack, l);
  if (moe && !searched("etp") && !o.find("etp")) notes.push_back(fmt::format("etp {} is assumed (layout.etp)", etp));
  l.etp = o.get("etp", etp, 1, c.gpus);
  l.micro_batch_size = o.get("micro_batch_size", 1, 1, 1 << 20);
  const bool tp_may_exceed_1 = l.tp > 1 || searched("tp");
  l.sequence_parallel = o.get("sequence_parallel", default_sequence_parallel(c)) && tp_may_exceed_1;
  if (!tp_may_exceed_1 && o.get("sequence_parallel", false))
    notes.push_back("sequence_parallel true does nothing at tp 1, where Megatron turns it off (layout.sequence_parallel)");
  if (!o.find("sequence_parallel") && tp_may_exceed_1)
    notes.push_back(
        fmt::format("sequence parallelism is taken as {} (layout.sequence_parallel)", l.sequence_parallel ? "on" : "off"));

  const auto sharding = o.find("sharding");
  if (!sharding && !searched("sharding"))
    notes.push_back(fmt::format("sharding {} is assumed (layout.sharding)", name_of(c.stack.defaults.sharding)));
  l.sharding = sharding ? read_sharding(*sharding, c.stack.profile.framework) : c.stack.defaults.sharding;
  l.optimizer_instances = o.get("optimizer_instances", 1, 1, c.gpus);
  l.fsdp_double_buffer = o.get("fsdp_double_buffer", false);
  l.use_tp_pp_dp_mapping = o.get("use_tp_pp_dp_mapping", false);
  if (const auto v = o.find("recompute")) {
    l.recompute = read_recompute(*v);
    if (v->is_object() && v->json().contains("stated") && v->json()["stated"] == false)
      notes.push_back("the extent of recompute is assumed, not stated (layout.recompute)");
  } else if (!searched("recompute")) {
    notes.push_back("no recompute is assumed (layout.recompute)");
  }
  l.split = read_flat_split(o);
  if (const auto v = o.find("split")) l.split = read_split(*v);
  if (!searched("vpp") && !o.find("vpp")) l.vpp = std::max(1, implied_vpp(l.split, l.pp));
  l.microbatch_group_size = o.get("microbatch_group_size", 0, 1);
  const auto dispatcher = o.find("dispatcher");
  if (!dispatcher && moe && !searched("dispatcher"))
    notes.push_back(fmt::format("dispatcher {} is assumed (layout.dispatcher)", name_of(c.stack.defaults.dispatcher)));
  if (dispatcher && dispatcher->is_text() && dispatcher->as_text() == "flex")
    notes.push_back("dispatcher flex is taken as deepep (layout.dispatcher)");
  l.dispatcher = dispatcher ? read_dispatcher(*dispatcher) : c.stack.defaults.dispatcher;
  l.dispatcher_sms = o.get("dispatcher_sms", 0, 1, 1000);
  l.cp_comm_type = default_cp_comm_type(c.model);
  if (l.cp_comm_type != CpCommType::p2p && l.cp > 1 && !o.find("cp_comm_type"))
    notes.push_back(
        fmt::format("cp_comm_type {} is assumed: the model's attention runs with no other "
                    "(layout.cp_comm_type)",
                    name_of(l.cp_comm_type)));
  l.cp_comm_type = o.get("cp_comm_type", l.cp_comm_type);
  if (const auto v = o.find("cuda_graph")) l.cuda_graph = read_cuda_graph(*v, c.model);
  l.overlap = read_overlap(o, c.stack.defaults);
  l.offload = read_offload(o);
  o.done();
  return {l, notes};
}

}  // namespace shardfit::io
