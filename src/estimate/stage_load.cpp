// SPDX-License-Identifier: Apache-2.0
//
// Computes    forward and backward seconds of one pipeline stage for one micro-batch.
// Formula     device = sum of its parts' terms; a pass takes soft_max(device, host). Where row counts are read on the
//             host, forward and backward each take theirs; else the sums over both compete once.
//             Vision: serial host work, then soft_max(device * wait, host), once a direction; wait = the slowest of
//             the ranks that meet before the decoder can go on.
// Source      composition and exponent: step-time study of published runs; vision: the study of MoE-VLM runs.
// Valid when  the host runs ahead of the device between two reads of device values.
// Ignores     stalls of the data loader; text-only micro-batches in an image workload.
// Checked by  tests/estimate, tests/measured.

#include "estimate/stage_load.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::estimate {
namespace {

constexpr double kSoftMaxExponent = 6;       // assumed: sharp enough that 2:1 adds 0.3 %, smooth for fitting
constexpr double kOffloadBehindGemm = 0.7;   // assumed: share of a stage's GEMM time that host copies can hide behind

/// Layers of a chunk that full recompute runs again, by kind.
int rerun_layers(const Problem& problem, const Chunk& chunk, const Recompute& recompute, int kind) {
  if (recompute.granularity != RecomputeGranularity::full) return 0;
  const int n = recompute.method == RecomputeMethod::block ? std::min(recompute.num_layers, chunk.num_layers)
                                                           : chunk.num_layers;
  return problem.layers.count(kind, chunk.first_layer, n);
}

struct DecoderSums { PassTime forward, backward, rerun; };

DecoderSums decoder_sums(const Problem& problem, const Evaluation& e, const Layout& layout, int stage) {
  DecoderSums sum;
  const auto add = [&sum](const BlockTime& t, double n, double rerun_forward) {
    sum.forward += t.forward * n;
    sum.backward += t.backward * n;
    sum.rerun += t.rerun * n;
    if (rerun_forward > 0) sum.rerun += t.forward * rerun_forward;
  };
  const bool mtp_reruns = layout.recompute.granularity == RecomputeGranularity::full &&
                          layout.recompute.method == RecomputeMethod::uniform;
  for (int v = 0; v < e.plan.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    for (int k = 0; k < problem.layers.size(); ++k)
      if (const int n = problem.layers.count(k, chunk.first_layer, chunk.num_layers))
        add(e.parts.kind(k).time, n, rerun_layers(problem, chunk, layout.recompute, k));
    if (chunk.embedding || chunk.mtp_layers) add(e.parts.embedding().time, 1, 0);
    if (chunk.mtp_layers) add(e.parts.mtp(true).time, chunk.mtp_layers, mtp_reruns ? chunk.mtp_layers : 0);
    if (chunk.head) add(e.parts.head().time, 1, 0);
  }
  return sum;
}

/// A pass of the tower: its host loops first (after a drain), then the longer of device and launches.
double vision_pass(const PassTime& encoder, const PassTime& projector, double wait, double slowdown) {
  PassTime both = encoder;
  both += projector;
  const double serial = both.serial;
  both.serial = 0;
  return serial + soft_max(both.device(0, slowdown) * wait, both.host);
}

void add_vision(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid, StageLoad& load) {
  const double slowdown = problem.job.time[Coefficient::overlap_slowdown];
  const double wait = workload::expected_slowest(ranks_waiting_for_images(layout, grid), e.parts.vision_batch().spread);
  const BlockTime& tower = e.parts.vision_encoder().time;
  const BlockTime& projector = e.parts.vision_projector().time;
  load.vision_forward = vision_pass(tower.forward, projector.forward, wait, slowdown);
  const EnumSet<ModelPart>& frozen = problem.job.training.frozen;
  if (frozen.contains(ModelPart::vision_model) && frozen.contains(ModelPart::vision_projection)) return;
  load.vision_backward = vision_pass(tower.backward, projector.backward, wait, slowdown);
  const bool reruns = layout.recompute.granularity == RecomputeGranularity::full && !frozen.contains(ModelPart::vision_model);
  if (reruns) load.vision_backward += soft_max(tower.forward.device(0, slowdown) * wait, tower.forward.host);
  else load.vision_backward += tower.rerun.device(0, slowdown) * wait;
}

/// Host copies of offloaded activations, one way, s a micro-batch.
double offload_copy(const Problem& problem, const Evaluation& e, const Layout& layout, int stage) {
  Bytes bytes;
  int whole_layers = layout.offload.activation_layers;
  for (int v = 0; v < e.plan.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int n = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
      const int whole = std::min(n, whole_layers);
      whole_layers -= whole;
      const memory::ActivationProfile& p = e.parts.kind(k).plain;
      bytes += p.offloaded * n + p.saved_total() * whole;
    }
  }
  return (bytes / gb_per_s(problem.job.hardware.node.host_link_gb_per_s.value)).value;
}

}  // namespace

double soft_max(double device, double host) {
  if (host <= 0) return device;
  if (device <= 0) return host;
  const double larger = std::max(device, host), ratio = std::min(device, host) / larger;
  return larger * std::pow(1 + std::pow(ratio, kSoftMaxExponent), 1 / kSoftMaxExponent);
}

int ranks_waiting_for_images(const Layout& layout, const GridSizes& grid) {
  if (layout.sharding == Sharding::full || layout.sharding == Sharding::full_torch) return grid.dp;
  return std::clamp(layout.ep * layout.etp / (layout.tp * layout.cp), 1, std::max(1, grid.dp));
}

StageLoad stage_load(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  const TimeCoefficients& time = problem.job.time;
  const double slowdown = time[Coefficient::overlap_slowdown];
  const DecoderSums sums = decoder_sums(problem, e, layout, stage);
  StageLoad load{.forward = sums.forward, .backward = sums.backward, .rerun = sums.rerun};
  if (layout.overlap.expert_alltoall)
    load.ep_hidden = time[Coefficient::expert_overlap_hidden] *
                     schedule::combined_1f1b_pairs(pipeline_shape(layout, grid), stage);

  const double copy = offload_copy(problem, e, layout, stage);
  load.forward.hidden += copy;
  load.backward.hidden += copy;
  const double f = load.forward.device(load.ep_hidden, slowdown);
  const double b = load.backward.device(load.ep_hidden, slowdown) + load.rerun.device(load.ep_hidden, slowdown);
  load.offload_exposed = std::max(0.0, copy - kOffloadBehindGemm * load.forward.gemm) +
                         std::max(0.0, copy - kOffloadBehindGemm * load.backward.gemm);
  const double host_b = load.backward.host + load.rerun.host;
  if (load.forward.sync > 0) {
    load.forward_s = soft_max(f, load.forward.host);
    load.backward_s = soft_max(b, host_b);
  } else {
    const double both = soft_max(f + b, load.forward.host + host_b), share = f / std::max(f + b, 1e-30);
    load.forward_s = both * share;
    load.backward_s = both * (1 - share);
  }
  load.host_extra = std::max(0.0, load.forward_s + load.backward_s - f - b);
  load.backward_s += load.offload_exposed;
  if (problem.vision && e.plan.at(stage, 0).vision) add_vision(problem, e, layout, grid, load);
  load.forward_s += load.vision_forward;
  load.backward_s += load.vision_backward;
  return load;
}

}  // namespace shardfit::estimate
