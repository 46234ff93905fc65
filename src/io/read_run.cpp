// SPDX-License-Identifier: Apache-2.0
#include "io/read_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/assumed_split.hpp"
#include "io/data_dir.hpp"
#include "io/load.hpp"
#include "io/read_hardware.hpp"
#include "io/read_layout.hpp"
#include "io/read_model.hpp"
#include "io/read_search.hpp"
#include "io/recipes.hpp"
#include "shardfit/spec/tower.hpp"

namespace shardfit::io {
namespace {

/// Keys of a run that describe it and compute nothing.
constexpr const char* kDescriptive[] = {"id",         "name",       "description",      "source",   "date",  "release",
                                        "status",     "perf_grade", "join_quality",     "family",   "group", "variant",
                                        "note",       "notes",      "world_size_known", "problems", "fix",   "cause",
                                        "confidence", "incomplete", "stack_pair_group", "measured"};

ModelSpec read_run_model(const Value& value, std::vector<std::string>& notes) {
  if (value.is_text()) return find_model(value.as_text(), value.place(), &notes);
  ModelSpec model = read_model(value, &notes);
  if (model.family.empty()) model.family = "inline";
  return model;
}

/// A row without a batch gets as many micro-batches a replica as the pipeline has stages: enough to fill it.
int assumed_batch(const Layout& l, int gpus) {
  const int replicas = std::max(1, gpus / std::max(1, l.tp * l.cp * l.pp));
  return replicas * l.micro_batch_size * l.pp;
}

/// Megatron-LM's arguments refuse optimizer offload without the precision-aware optimizer, so a run that offloads
/// through them has it. Source: Megatron-LM training/arguments.py.
bool needs_precision_aware(const Job& job, const Layout& layout) {
  const EntryPoint from = job.stack.entry_point;
  return layout.offload.optimizer_fraction > 0 && job.stack.framework == Framework::megatron &&
         (from == EntryPoint::megatron_lm || from == EntryPoint::ms_swift);
}

/// The stated batch, or where it is not whole micro-batches of every replica (reports mix figures of several
/// attempts) the next larger one that is.
int whole_batch(const Job& job, const Layout& l) {
  const int model = l.tp * l.cp * l.pp, once = std::max(1, job.gpus / std::max(1, model)) * l.micro_batch_size;
  return job.gpus % model ? job.training.global_batch_size : (job.training.global_batch_size + once - 1) / once * once;
}

/// Megatron-Bridge's recipes with Megatron-FSDP switch gradient accumulation fusion off. Source: its
/// perf_recipes (067f987df).
bool fsdp_drops_fusion(const StackProfile& stack, const Layout& layout, const std::optional<Value>& stated) {
  const bool says = stated && stated->is_object() && stated->json().contains("grad_accumulation_fusion");
  const bool fsdp = layout.sharding == Sharding::full || layout.sharding == Sharding::optimizer_grads;
  return stack.entry_point == EntryPoint::megatron_bridge && fsdp && !says;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// What is taken of a tower without having been read in its source.
void note_towers(Scenario& s) {
  if (!runs_vision(s.job.model, s.job.training)) return;
  const bool bridge = s.job.stack.entry_point == EntryPoint::megatron_bridge;
  const TowerFamily family = tower_family(s.job.model);
  if (bridge && family.family.empty())
    s.assumptions.push_back(fmt::format(
        "how Megatron-Bridge builds the tower of family \"{}\" is not known: taken as the published module, whole on every "
        "tensor-parallel rank and never recomputed (model.family)",
        s.job.model.family));
  if (!bridge || !family.megatron_layers)
    s.assumptions.push_back(fmt::format(
        "the host's launches and reads for each picture and row are those of Megatron-Bridge's Qwen3-VL; the code around the "
        "tower of family \"{}\" here was not counted (model.vision)",
        s.job.model.family));
}

/// What follows from training, stack and layout together, where the file leaves it out; each with its words.
void fill_in_jointly(Scenario& s, const std::optional<Value>& stack_value, Missing missing) {
  if (fsdp_drops_fusion(s.job.stack, s.base, stack_value)) {
    s.job.stack.grad_accumulation_fusion = false;
    s.assumptions.push_back("Megatron-FSDP runs without gradient accumulation fusion (stack.grad_accumulation_fusion)");
  }
  if (missing == Missing::assume)
    if (const auto split = assumed_split(s.job.model, s.job.training, s.base)) {
      s.base.split = *split;
      s.assumptions.push_back(
          fmt::format("layers are split as {} (layout.pipeline_layout)", split->text.empty() ? "one stage" : split->text));
    }

  if (missing == Missing::assume && needs_precision_aware(s.job, s.base)) {
    s.job.training.optimizer.precision_aware = true;
    s.assumptions.push_back(
        "the precision-aware optimizer is assumed: optimizer offload does not start without it "
        "(training.optimizer.precision_aware)");
  }

  note_towers(s);
  if (s.job.training.global_batch_size == 0) {
    s.job.training.global_batch_size = assumed_batch(s.base, s.job.gpus);
    s.assumptions.push_back(
        fmt::format("global_batch_size {} is assumed: the pipeline just filled "
                    "(training.global_batch_size)",
                    s.job.training.global_batch_size));
  }
  if (missing == Missing::assume)
    if (const int batch = whole_batch(s.job, s.base); batch != s.job.training.global_batch_size) {
      s.assumptions.push_back(
          fmt::format("global_batch_size {} is taken as {}, which replicas of this layout divide "
                      "(training.global_batch_size)",
                      s.job.training.global_batch_size, batch));
      s.job.training.global_batch_size = batch;
    }
}

}  // namespace

Scenario read_run(const Value& value, const RunRules& rules) {
  Object o(value);
  for (const char* key : kDescriptive) o.ignore(key);
  Scenario s;
  s.file = value.place().file;
  const auto name = o.find("name");
  const auto id = o.find("id");
  if (name)
    s.name = name->as_text();
  else if (id)
    s.name = id->as_text();

  const Value model_value = o.at("model");
  s.job.model = read_run_model(model_value, s.assumptions);
  const Value hardware = o.at("hardware");
  s.job.hardware = find_hardware(hardware.as_text(), hardware.place());
  s.job.gpus = o.at("gpus").as_int(1, kMostGpus);
  s.job.time = load_coefficients();

  const auto stack_value = o.find("stack");
  const Stack stack = read_stack(stack_value, rules.stack);
  s.job.stack = stack.profile;
  if (!stack_value) s.assumptions.push_back(fmt::format("stack {} is assumed (stack.profile)", stack.profile.name));

  const auto assumed_value = o.find("assumed");
  std::optional<Object> assumed;
  if (assumed_value) assumed.emplace(*assumed_value);
  Object* over = assumed ? &*assumed : nullptr;

  const Assumed<TrainingSpec> training = read_training(o.at("training"), over, s.job.model, stack, rules.missing);
  s.job.training = training.value;
  append(s.assumptions, training.assumptions);
  if (rules.missing == Missing::refuse && s.job.stack.entry_point == EntryPoint::megatron_bridge)
    append(s.assumptions, recipe_hints(load_recipes(),
                                       {s.job.model.name, s.job.hardware.name, std::string(name_of(s.job.training.precision)),
                                        s.job.stack.date, s.job.gpus, value.json()},
                                       value.json()));

  const auto search = o.find("search");
  const Json no_layout = Json::object();
  const auto layout_value = o.find("layout");
  if (!layout_value && !search) o.at("layout");
  const LayoutContext context{s.job.model, stack, s.job.gpus, searched_fields(search)};
  const Value block = layout_value.value_or(Value(no_layout, o.place().down("layout")));
  const Assumed<Layout> layout = read_layout(block, over, context);
  s.base = layout.value;
  s.sequence_parallel_above_tp_1 = sequence_parallel_above_tp_1(block, over, context);
  append(s.assumptions, layout.assumptions);
  if (assumed) assumed->done();
  fill_in_jointly(s, stack_value, rules.missing);
  s.space = read_search(search, s.job, s.base, std::max(s.job.gpus, rules.largest_gpus));
  o.done();
  return s;
}

std::vector<std::string> list_models() { return list_folder("models"); }

std::vector<std::string> list_hardware() {
  std::vector<std::string> names = list_folder("hardware");
  std::erase(names, "step-time");  // the coefficients that all GPUs share
  return names;
}

std::vector<std::string> list_stacks() { return list_folder("stacks"); }
std::vector<std::string> list_scenarios() { return list_folder("scenarios"); }

}  // namespace shardfit::io
