// SPDX-License-Identifier: Apache-2.0
// Computes:   operations, profiles and passes of the vision tower and its projection for a layout.
// Formula:    time is that of the average micro-batch, memory that of the fullest, both of the context-parallel rank with
//             the most images where these share them out. A tower whose layers run again keeps their inputs, and a share of
//             what the layers keep: those that the decoder's method leaves alone.
// Source:     Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/{transformer_config,transformer_block}.py.
// Valid when: the layers of a tower are alike.
// Ignores:    DeepStack mergers between a frozen tower's checkpointed layers get no gradient in Megatron-Bridge (its
//             checkpoints are re-entrant); here they train.
// Checked by: tests/laws/vision_laws_test.cpp, tests/laws/workload_laws_test.cpp.

#include <algorithm>
#include <cmath>

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
  a.scoped += b.scoped;
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
  p.scoped = {};
  return p;
}

PassLoad without_serial(PassTime pass, double slowdown) {
  pass.serial = 0;
  return pass.load(slowdown);
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
    return block::VisionLoad{.patches = own.patches,
                             .patches_squared = own.patches_squared,
                             .tokens = own.tokens,
                             .images = own.images,
                             .spans = own.steps,
                             .positions = loops ? own.positions : 0,
                             .all_tokens = all.tokens,
                             .split_over_cp = split};
  };
  const block::VisionLoad usual_load = load_of(now_->vision_batch, usual),
                          most_load = load_of(now_->fullest_vision_batch, most);
  now_->tower_input = Bytes(std::llround(most_load.patches) * vision.hidden_size * kBf16Bytes);

  const auto make = [&](Part& part, auto operations) {
    const auto lists = [&](const block::Shapes& shapes, const block::VisionLoad& load) {
      return operations(part_shapes(job, shapes, ModelPart::vision_model),
                        part_shapes(job, shapes, ModelPart::vision_projection), load);
    };
    build_part(part, layout, lists(now_->shapes, most_load), lists(loaded, usual_load));
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

/// Adds the three parts of the tower, then all as one.
void Parts::keep_vision(const Layout& layout, std::vector<KeptCosts>& rows) const {
  Layout own = layout;  // full recompute is the tower's own business
  if (own.recompute.granularity == RecomputeGranularity::full) own.recompute = {};
  const KeptCosts ends = keep(now_->vision_ends, own, MemoryTerm::saved_vision, {});
  KeptCosts layers = keep(now_->vision_layers, own, MemoryTerm::saved_vision, {});
  const KeptCosts projector = keep(now_->vision_projector, own, MemoryTerm::saved_vision, {});
  const memory::CheckpointedLayers again = tower_checkpoints(problem_.job, layout.recompute);
  if (again.checkpoints > 0)
    layers.plain = layers.checkpointed = checkpointed(layers.plain, again, problem_.job.model.vision->depth, now_->tower_input);
  KeptCosts all = ends;
  add_profile(all.plain, layers.plain);
  add_profile(all.plain, projector.plain);
  all.checkpointed = all.plain;
  rows.insert(rows.end(), {ends, layers, projector, all});
}

/// Adds all parts as one: their passes are added up before loads are taken of them. The last rows are those of the tower.
void Parts::add_vision_passes(std::vector<PassCosts>& rows) const {
  constexpr std::ptrdiff_t kTowerParts = 3;
  PassCosts all;
  for (auto part = rows.end() - kTowerParts; part != rows.end(); ++part) {
    all.time.forward += part->time.forward;
    all.time.backward += part->time.backward;
  }
  const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
  all.forward = without_serial(all.time.forward, slowdown);
  all.backward = without_serial(all.time.backward, slowdown);
  rows.push_back(all);
}

/// What of the tower runs again, by full or selective recompute.
RerunLoad Parts::vision_rerun(const Layout& layout) const {
  const memory::CheckpointedLayers again = tower_checkpoints(problem_.job, layout.recompute);
  const int depth = problem_.job.model.vision->depth;
  PassTime all;
  double forward_host = 0;
  for (const Part* part : {&now_->vision_ends, &now_->vision_layers, &now_->vision_projector}) {
    if (part == &now_->vision_layers && again.checkpoints > 0) {
      all.add(part->passes->time.forward, double(depth - again.plain) / depth);
      const CheckpointHost host = checkpoint_host(again.checkpoints, layout.cuda_graph, now_->rates);
      all.host += host.backward;
      forward_host += host.forward;
      continue;
    }
    const Rerun rerun = rerun_pass(part->kept->rerun, layout.cuda_graph, now_->rates);
    all += rerun.pass;
    forward_host += rerun.forward_host;
  }
  return {without_serial(all, problem_.job.time[Coefficient::overlap_slowdown]), forward_host};
}

}  // namespace shardfit::estimate
