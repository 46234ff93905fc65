// SPDX-License-Identifier: Apache-2.0
#include "io/read_training.hpp"

#include <fmt/format.h>

#include "io/load.hpp"
#include "io/read_lora.hpp"
#include "io/read_precision.hpp"
#include "io/read_workload.hpp"
#include "shardfit/spec/model_dims.hpp"
#include "shardfit/spec/tower.hpp"

namespace shardfit::io {
namespace {

constexpr int kMaxSequence = 1 << 27;   ///< 134 M tokens: a hundred times the longest rows trained
constexpr int kAssumedSequence = 4096;  ///< measured rows that do not say: the commonest of the published ones

using Notes = std::vector<std::string>;

OptimizerSpec read_optimizer(Object& training, Object* assumed, const StackDefaults& defaults, Precision precision,
                             Notes& notes) {
  const auto v = training.find("optimizer");
  Object o = v ? Object(*v) : Object::empty(training.place().down("optimizer"));
  if (assumed != nullptr) o.overlay(*assumed);
  const DType parameters = activation_dtype(precision);
  const DType state = defaults.optimizer_dtype.value_or(parameters);
  OptimizerSpec s;
  s.kind = o.get("kind", OptimizerKind::adam);
  s.precision_aware = o.get("precision_aware", false);
  if (!o.find("grad_buffer_dtype"))
    notes.push_back(fmt::format("gradients are taken as {} (training.optimizer.grad_buffer_dtype)",
                                name_of(defaults.gradient_dtype.value_or(parameters))));
  s.grad_buffer_dtype = o.get("grad_buffer_dtype", defaults.gradient_dtype.value_or(parameters));
  s.main_params_dtype = o.get("main_params_dtype", state);
  s.main_grads_dtype = o.get("main_grads_dtype", state);
  s.exp_avg_dtype = o.get("exp_avg_dtype", state);
  s.exp_avg_sq_dtype = o.get("exp_avg_sq_dtype", state);
  o.done();
  return s;
}

/// Megatron-SWIFT leaves towers and projections frozen unless told otherwise. Source: ms-swift megatron arguments,
/// MegatronTunerMixin (freeze_vit, freeze_aligner).
EnumSet<ModelPart> read_frozen(Object& training, const ModelSpec& model, bool text_only, EntryPoint entry_point, Notes& notes) {
  if (const auto v = training.find("frozen")) return v->as_enum_set<ModelPart>();
  if (entry_point != EntryPoint::ms_swift || !model.vision || text_only) return {};
  notes.push_back("vision_model and vision_projection are frozen, as Megatron-SWIFT does by itself (training.frozen)");
  return {ModelPart::vision_model, ModelPart::vision_projection};
}

/// Megatron's optimizer cannot be built without a parameter that trains.
void refuse_nothing_to_train(Object& training, const Job& job) {
  for (const ModelPart part : {ModelPart::language_model, ModelPart::vision_model, ModelPart::vision_projection})
    if (training_of(job, part).any()) return;
  training.at("frozen").refuse(
      "a list that leaves a part of the model to train",
      job.training.task == Task::lora ? "a part with linear layers that LoRA targets" : "or task \"lora\"");
}

/// What LoRA does to a vision-language model, in words.
void note_adapters(const Job& job, Notes& notes) {
  if (job.training.task != Task::lora || !runs_vision(job.model, job.training)) return;
  const bool tower = training_of(job, ModelPart::vision_model).any();
  const bool projection = training_of(job, ModelPart::vision_projection).any();
  notes.push_back(fmt::format("LoRA adapts {} (training.frozen, training.lora.target_modules)",
                              tower && projection ? "the tower and its mergers too, where linear layers have the targets' names"
                              : tower             ? "the tower too, where linear layers have the targets' names"
                              : projection        ? "the mergers too, where linear layers have the targets' names"
                                           : "the language model alone: tower and projection are frozen, without adapters"));
}

/// Megatron-Bridge's fine-tuning recipes of vision-language models train on CORD-v2, one receipt a sample. Source:
/// Megatron-Bridge recipes/common.py:_sft_common_vlm, _peft_common_vlm (067f987df).
constexpr const char* kFineTuningData = "cord-receipts";

bool trains_on_recipe_data(Object& training, const Job& job) {
  const Task task = job.training.task;
  return job.stack.entry_point == EntryPoint::megatron_bridge && (task == Task::sft || task == Task::lora) &&
         runs_vision(job.model, job.training) && !training.find("vision");
}

void read_packing(Object& training, TrainingSpec& t) {
  const auto v = training.find("packing");
  if (!v) return;
  if (v->is_bool()) {
    t.packing = v->as_bool() ? Packing::offline : Packing::none;
    return;
  }
  Object o(*v);
  const bool offline = o.get("offline_packed", true);
  t.packing = o.get("kind", offline ? Packing::offline : Packing::none);
  t.packing_efficiency = o.get("efficiency_pct", 100.0, 1.0, 100.0) / 100;
  o.ignore("dataset");
  o.ignore("pad_to_max_length");
  o.done();
}

int read_sequence_length(Object& o, Missing missing, Notes& notes) {
  if (missing == Missing::refuse || o.find("sequence_length")) return o.at("sequence_length").as_int(1, kMaxSequence);
  notes.push_back(fmt::format("sequence_length {} is assumed (training.sequence_length)", kAssumedSequence));
  return kAssumedSequence;
}

/// A capacity drops what is beyond it: Megatron-Core has no other switch. Source: Megatron-Core moe/router.py
/// (apply_router_token_dropping where moe_expert_capacity_factor is set).
bool read_token_drop(Object& o, const TrainingSpec& t, std::vector<std::string>& notes) {
  const bool drops = t.expert_capacity_factor > 0;
  if (drops && !o.find("token_drop")) notes.push_back("tokens beyond the expert capacity are dropped (training.token_drop)");
  return o.get("token_drop", drops);
}

/// Megatron-Bridge's switch for dropping tokens pads every expert to its capacity unless told otherwise; elsewhere padding
/// is a flag of its own. Source: Megatron-Bridge training/utils/moe_token_drop.py.
bool read_padding(Object& o, const TrainingSpec& t, EntryPoint entry_point, std::vector<std::string>& notes) {
  const bool switched = o.find("token_drop") && t.token_drop;
  const bool pads = switched && t.expert_capacity_factor > 0 && entry_point == EntryPoint::megatron_bridge;
  if (pads && !o.find("pad_to_capacity"))
    notes.push_back("experts are padded to their capacity, as Megatron-Bridge drops tokens (training.pad_to_capacity)");
  return o.get("pad_to_capacity", pads);
}

}  // namespace

Assumed<TrainingSpec> read_training(const Value& value, Object* assumed, const ModelSpec& model, const Stack& stack,
                                    Missing missing) {
  Object o(value);
  if (assumed != nullptr) o.overlay(*assumed);
  Notes notes;
  TrainingSpec t;
  t.task = o.get("task", Task::pretrain);
  t.task_type = o.get("task_type", t.task_type);
  read_precision(o, stack.profile.entry_point, t, notes);
  t.sequence_length = read_sequence_length(o, missing, notes);
  t.global_batch_size = missing == Missing::refuse ? o.at("global_batch_size").as_int(1) : o.get("global_batch_size", 0, 1);
  t.vocab_padding_multiple = o.get("vocab_padding_multiple", stack.defaults.vocab_padding_multiple, 1, 1 << 20);
  t.mtp_layers = o.find_int("mtp_layers", 0, 1000);
  if (t.quant_recipe.mtp && mtp_depth(model.text, t) == 0)
    notes.push_back(fmt::format("precision {} of MTP does nothing: the model has no MTP layers (training.quant_recipe.mtp)",
                                name_of(*t.quant_recipe.mtp)));
  t.text_only = o.get("text_only", false);
  const bool any_moe = [&] {
    for (const MlpSpec& m : model.text.mlps)
      if (std::holds_alternative<MoeMlpSpec>(m.kind)) return true;
    return false;
  }();
  if (any_moe && !o.find("routing"))
    notes.push_back(fmt::format("{} routing is assumed (training.routing)", name_of(stack.defaults.routing)));
  t.routing = o.get("routing", stack.defaults.routing);
  t.routing_imbalance = o.get("routing_imbalance", 0.0, 0.0, 1e6);
  if (t.routing_imbalance != 0 && t.routing_imbalance < 1)
    o.at("routing_imbalance").refuse("0 (by routing) or busiest rank over mean, at least 1");
  t.expert_capacity_factor = o.get("expert_capacity_factor", 0.0, 0.0, 1e6);
  t.token_drop = read_token_drop(o, t, notes);
  t.pad_to_capacity = read_padding(o, t, stack.profile.entry_point, notes);
  t.attention_dropout = o.get("attention_dropout", 0.0, 0.0, 1.0);
  t.hidden_dropout = o.get("hidden_dropout", 0.0, 0.0, 1.0);
  t.optimizer = read_optimizer(o, assumed, stack.defaults, t.precision, notes);
  t.frozen = read_frozen(o, model, t.text_only, stack.profile.entry_point, notes);
  t.lora = read_lora(o, t.task, notes);
  Job trained;
  trained.model = model;
  trained.training = t;
  trained.stack = stack.profile;
  if (!t.frozen.empty()) refuse_nothing_to_train(o, trained);
  note_adapters(trained, notes);
  read_packing(o, t);
  if (missing == Missing::assume && trains_on_recipe_data(o, trained)) {
    t.vision = load_workload(kFineTuningData).workload;
    notes.push_back(fmt::format("samples of the recipe's data set, {}, are assumed (training.vision)", kFineTuningData));
  } else {
    t.vision = read_vision_workload(o, model, stack.defaults, t.text_only, notes);
  }
  o.done();
  return {t, notes};
}

}  // namespace shardfit::io
