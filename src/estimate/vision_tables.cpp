// SPDX-License-Identifier: Apache-2.0
//
// Computes    operations, profiles and passes of the vision tower and its projection for a layout.
// Formula     time is that of the average micro-batch, memory that of the fullest, both of the context-parallel rank with
//             the most images where these share them out. A tower whose layers run again keeps their inputs, and a share of
//             what the layers keep: those that the decoder's method leaves alone.
// Source      Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/{transformer_config,transformer_block}.py.
// Valid when  the layers of a tower are alike.
// Ignores     DeepStack mergers between a frozen tower's checkpointed layers get no gradient in Megatron-Bridge (its
//             checkpoints are re-entrant); here they train.
// Checked by  tests/laws/vision_laws_test.cpp, tests/laws/workload_laws_test.cpp.

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimate/parts.hpp"

namespace shardfit::estimate {
namespace {

constexpr int kBf16Bytes = 2;

/// Shapes of the tower or its projection: bf16, and trained, adapted or frozen on their own.
block::Shapes part_shapes(const Job& job, block::Shapes shapes, ModelPart part) {
  const PartTraining training = training_of(job, part);
  shapes.precision = Precision::bf16;
  shapes.train_weights = training.weights;
  shapes.lora_rank = training.adapters ? job.training.lora.value_or(LoraSpec{}).rank : 0;
  shapes.needs_input_grad = training_of(job, ModelPart::vision_model).any();
  return shapes;
}

/// Parts that run one after the other as one.
void add_profile(memory::ActivationProfile& a, const memory::ActivationProfile& b) {
  a.saved += b.saved;
  a.recompute_working_set += b.recompute_working_set;
  a.forward_transient = std::max(a.forward_transient, b.forward_transient);
  a.backward_transient = std::max(a.backward_transient, b.backward_transient);
  a.graphed += b.graphed;
  a.offloaded += b.offloaded;
}

/// What the layers keep where some of them run again: `input` is one layer's.
memory::ActivationProfile checkpointed(const memory::ActivationProfile& whole, const memory::CheckpointedLayers& layers,
                                       int depth, Bytes input) {
  memory::ActivationProfile p = whole;
  const Bytes kept = whole.saved_total();
  p.saved = {};
  p.saved.add(MemoryTerm::saved_vision, kept * layers.plain / depth + input * layers.checkpoints);
  p.recompute_working_set = std::max(kept * layers.rerun / depth - input, Bytes(0));
  p.graphed = Bytes(0);
  return p;
}

}  // namespace

memory::CheckpointedLayers tower_checkpoints(const Job& job, const Recompute& recompute) {
  const int depth = job.model.vision->depth;
  const memory::CheckpointedLayers none{0, depth, 0};
  if (!training_of(job, ModelPart::vision_model).any()) return none;
  switch (tower_build(job.model, job.stack).recompute) {
    case TowerBuild::Recompute::never: return none;
    case TowerBuild::Recompute::always: return {depth, 0, 1};
    default: return memory::checkpointed_layers(recompute, depth);
  }
}

void Parts::build_vision(const Layout& layout, const block::Shapes& loaded) {
  const Job& job = problem_.job;
  const VisionSpec& vision = *job.model.vision;
  const TowerBuild build = tower_build(job.model, job.stack);
  const double rows = layout.micro_batch_size;
  const double samples = rows * workload::samples_per_row(job.training, problem_.sample);
  const int micro_batches = std::max(1, int(job.training.global_batch_size / rows));
  const workload::VisionBatch usual = workload::vision_batch(problem_.sample, samples);
  const workload::VisionBatch most = workload::fullest(usual, micro_batches, rows * job.training.sequence_length);
  const bool split = build.split_over_tp && job.stack.vision_dp_when_cp && layout.cp > 1;
  now_->vision_batch = workload::on_busiest_of(usual, split ? layout.cp : 1);
  now_->fullest_vision_batch = workload::on_busiest_of(most, split ? layout.cp : 1);
  // Qwen3-VL's towers, published or Bridge's own, interpolate positions in Python lists; others on the device.
  const bool loops = built_of_megatron_layers(job.model);
  const auto load_of = [split, loops](const workload::VisionBatch& own, const workload::VisionBatch& all) {
    return block::VisionLoad{.patches = own.patches, .patches_squared = own.patches_squared, .tokens = own.tokens,
                             .images = own.images, .spans = own.steps, .positions = loops ? own.positions : 0, .all_tokens = all.tokens,
                             .split_over_cp = split};
  };
  const block::VisionLoad usual_load = load_of(now_->vision_batch, usual), most_load = load_of(now_->fullest_vision_batch, most);
  now_->tower_input = Bytes(std::llround(most_load.patches) * vision.hidden_size * kBf16Bytes);

  const auto make = [&](Part& part, auto operations) {
    const auto lists = [&](const block::Shapes& shapes, const block::VisionLoad& load) {
      return operations(part_shapes(job, shapes, ModelPart::vision_model),
                        part_shapes(job, shapes, ModelPart::vision_projection), load);
    };
    build_part(part, lists(now_->shapes, most_load), lists(loaded, usual_load));
  };
  using block::Shapes, block::VisionLoad;
  make(now_->vision_ends, [&](const Shapes& tower, const Shapes&, const VisionLoad& load) {
    return block::vision_ends(vision, tower, load, build);
  });
  make(now_->vision_layers, [&](const Shapes& tower, const Shapes& projection, const VisionLoad& load) {
    return block::vision_layers(vision, tower, projection, load, build);
  });
  make(now_->vision_projector, [&](const Shapes&, const Shapes& projection, const VisionLoad& load) {
    return block::vision_projector(vision, projection, load, build);
  });
}

/// Adds the three parts of the tower, then all as one. What runs again, by full or selective recompute, is in `rerun`.
void Parts::cost_vision(const Layout& layout, CostTable& costs) {
  const VisionSpec& vision = *problem_.job.model.vision;
  Layout kept = layout;                    // full recompute is the tower's own business
  if (kept.recompute.granularity == RecomputeGranularity::full) kept.recompute = {};
  const PartCosts ends = cost_part(now_->vision_ends, kept, MemoryTerm::saved_vision, {});
  PartCosts layers = cost_part(now_->vision_layers, kept, MemoryTerm::saved_vision, {});
  const PartCosts projector = cost_part(now_->vision_projector, kept, MemoryTerm::saved_vision, {});

  const memory::CheckpointedLayers again = tower_checkpoints(problem_.job, layout.recompute);
  if (again.checkpoints > 0) {
    layers.plain = layers.checkpointed = checkpointed(layers.plain, again, vision.depth, now_->tower_input);
    layers.time.rerun = {};
    layers.time.rerun.add(layers.time.forward, double(vision.depth - again.plain) / vision.depth);
    layers.rerun = layers.time.rerun.load(problem_.job.time[Coefficient::overlap_slowdown]);
  }
  PartCosts both = ends;
  for (const PartCosts* part : {&std::as_const(layers), &projector}) {
    add_profile(both.plain, part->plain);
    both.time.forward += part->time.forward;
    both.time.backward += part->time.backward;
    both.time.rerun += part->time.rerun;
  }
  const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
  const auto without_serial = [&](PassTime pass) {
    pass.serial = 0;
    return pass.load(slowdown);
  };
  both.forward = without_serial(both.time.forward);
  both.backward = without_serial(both.time.backward);
  both.rerun = without_serial(both.time.rerun);
  both.checkpointed = both.plain;
  costs.insert(costs.end(), {ends, layers, projector, both});
}

}  // namespace shardfit::estimate
