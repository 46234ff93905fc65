// SPDX-License-Identifier: Apache-2.0
// Computes:   forward and backward seconds of one pipeline stage for one micro-batch.
// Formula:    device = sum of its parts' terms; a pass takes soft_max(device, host). Where row counts are read on the host,
//             forward and backward each take theirs; else the sums over both compete once.
//             Vision: serial host work, then soft_max(device * wait, host), once a direction; wait = the slowest of the
//             ranks that meet before the decoder can go on, and of the groups that meet at the end of the step.
// Source:     composition: step-time study of published runs; vision: the study of MoE-VLM runs.
// Valid when: the host runs ahead of the device between two reads of device values.
// Ignores:    stalls of the data loader; text-only micro-batches in an image workload.
// Checked by: tests/estimate, tests/measured.

#include "estimate/stage_load.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::estimate {
namespace {

constexpr double kOffloadBehindGemm = 0.7;  // assumed: share of a stage's GEMM time that host copies can hide behind

/// Of soft_max, (device^n + host^n)^(1/n): how sharply the slower of the two wins. Assumed: held fixed where the others
/// were fitted.
constexpr int kSoftMaxExponent = 6;

/// Two numbers side by side, which the machine works on at once: a pass forward and one backward.
using Both = double __attribute__((vector_size(2 * sizeof(double))));

/// x^(1/6) for x in [1, 2]: a polynomial within 2e-6, then one Halley step, which leaves rounding errors only. A sweep takes
/// several a layout, and the library's pow is ten times as long. Coefficients fitted here (Chebyshev, degree 5).
Both sixth_root(Both x) {
  static_assert(kSoftMaxExponent == 6);
  const Both t = 2 * x - 3;  // [-1, 1]
  const Both y = ((((0.000116280239512 * t + -0.000442084547437) * t + 0.00167399767468) * t + -0.00823807565059) * t +
                  0.0594405994447) *
                     t +
                 1.06991221019;
  const Both y2 = y * y, y6 = y2 * y2 * y2;
  return y + y * 2 * (x - y6) / (7 * y6 + 5 * x);
}

/// soft_max of two pairs.
Both soft_max(Both device, Both host) {
  const Both larger = device > host ? device : host, smaller = device > host ? host : device;
  const Both none = {};
  const Both ratio = smaller > none ? smaller / larger : none, square = ratio * ratio;
  const Both sum = larger * sixth_root(1 + square * square * square);
  return smaller > none ? sum : larger;
}

/// Everything of a stage that is not vision: calls f(part, times that it runs).
template <class F>
void for_each_timed_part(const Evaluation& e, int stage, F f) {
  const StageWork& work = e.work(stage);
  for (std::size_t k = 0; k < work.layers.size(); ++k)
    if (const int n = work.layers[k]) f(e.parts.kind(int(k)), n);
  if (work.embeddings) f(e.parts.embedding(), work.embeddings);
  if (work.mtp_layers) f(e.parts.mtp(true), work.mtp_layers);
  if (work.heads) f(e.parts.head(), work.heads);
}

/// What full recompute runs again of a stage, and what its checkpoints cost the host.
void add_full_rerun(const Problem& problem, const Evaluation& e, const Layout& layout, int stage, StageSums& sums) {
  const StageWork& work = e.work(stage);
  for (std::size_t k = 0; k < work.layers.size(); ++k)
    if (const int n = work.layers[k] ? rerun_layers(problem, e, layout.recompute, stage, int(k)) : 0)
      sums.rerun.add(e.parts.kind(int(k)).passes->forward, n);
  int checkpoints = 0;
  for (int v = 0; v < e.plan.vpp; ++v)
    checkpoints += memory::checkpointed_layers(layout.recompute, e.plan.at(stage, v).num_layers).checkpoints;
  if (work.mtp_layers && layout.recompute.method == RecomputeMethod::uniform) {
    sums.rerun.add(e.parts.mtp(true).passes->forward, work.mtp_layers);
    checkpoints += work.mtp_layers;
  }
  const CheckpointHost host = checkpoint_host(checkpoints, layout.cuda_graph, e.parts.rates());
  sums.forward.host += host.forward;
  sums.rerun.host += host.backward;
}

}  // namespace

int rerun_layers(const Problem& problem, const Evaluation& e, const Recompute& recompute, int stage, int kind) {
  if (recompute.granularity != RecomputeGranularity::full) return 0;
  if (recompute.method != RecomputeMethod::block) return e.work(stage).layers[std::size_t(kind)];
  int layers = 0;
  for (int v = 0; v < e.plan.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    layers += problem.layers.count(kind, chunk.first_layer, std::min(recompute.num_layers, chunk.num_layers));
  }
  return layers;
}

Bytes offloaded_activations(const Problem& problem, const Evaluation& e, const Layout& layout, int stage) {
  int whole_layers = layout.offload.activation_layers;
  if (whole_layers == 0 && layout.offload.activation_modules.empty()) return {};
  Bytes bytes;
  for (int v = 0; v < e.plan.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int n = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
      const int whole = std::min(n, whole_layers);
      whole_layers -= whole;
      const memory::ActivationProfile& p = e.parts.kind(k).kept->plain;
      bytes += p.offloaded * n + p.saved_total() * whole;
    }
  }
  return bytes;
}

double soft_max(double device, double host) { return soft_max(Both{device, 0}, Both{host, 0})[0]; }

int ranks_waiting_for_images(const Layout& layout, const GridSizes& grid) {
  if (layout.sharding == Sharding::full || layout.sharding == Sharding::full_torch)
    return std::max(1, grid.dp / layout.optimizer_instances);
  return std::clamp(layout.ep * layout.etp / (layout.tp * layout.cp), 1, std::max(1, grid.dp));
}

double image_wait(const Layout& layout, const GridSizes& grid, double spread) {
  const int together = ranks_waiting_for_images(layout, grid);
  const double of_step = spread / std::sqrt(double(std::max(1, grid.microbatches)));
  return workload::expected_slowest(together, spread) * workload::expected_slowest(std::max(1, grid.dp / together), of_step);
}

double image_wait(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  if (!problem.vision) return 1;
  std::optional<double>& kept = e.placement().image_wait;
  if (!kept) kept = image_wait(layout, grid, e.parts.vision_batch().spread);
  return *kept;
}

VisionSeconds vision_seconds(const Evaluation& e, double wait) {
  const Part& all = e.parts.vision();
  const PassCosts& passes = *all.passes;
  // Host loops first (after a drain), then the longer of device and launches.
  const Both rest = soft_max(Both{passes.forward.device * wait, passes.backward.device * wait},
                             Both{passes.forward.host + all.rerun->forward_host, passes.backward.host});
  VisionSeconds t;
  t.forward = passes.time.forward.serial + rest[0];
  t.backward = passes.time.backward.serial + rest[1] + soft_max(all.rerun->pass.device * wait, all.rerun->pass.host);
  return t;
}

StageSums stage_sums(const Problem& problem, const Evaluation& e, const Layout& layout, int stage) {
  StageSums sums;
  for_each_timed_part(e, stage, [&](const Part& part, int n) {
    sums.forward.add(part.passes->forward, n);
    sums.backward.add(part.passes->backward, n);
    sums.rerun.add(part.rerun->pass, n);
    sums.forward.host += part.rerun->forward_host * n;
  });
  if (layout.recompute.granularity == RecomputeGranularity::full) add_full_rerun(problem, e, layout, stage, sums);
  sums.copy =
      (offloaded_activations(problem, e, layout, stage) / gb_per_s(problem.job.hardware.node.host_link_gb_per_s.value)).value;
  return sums;
}

StageSeconds stage_seconds(const Problem& problem, const Evaluation& e, int stage, const StageSums& sums, double pairs,
                           double wait) {
  const TimeCoefficients& time = problem.job.time;
  StageSeconds t;
  t.ep_hidden = time[Coefficient::expert_overlap_hidden] * pairs;
  const double copy = sums.copy, copy_slows = copy * time[Coefficient::overlap_slowdown];
  const double f = sums.forward.device_at(t.ep_hidden) + copy_slows;
  t.rerun_s = sums.rerun.device_at(t.ep_hidden);
  const double b = sums.backward.device_at(t.ep_hidden) + t.rerun_s + copy_slows;
  t.offload_exposed = std::max(0.0, copy - kOffloadBehindGemm * sums.forward.gemm) +
                      std::max(0.0, copy - kOffloadBehindGemm * sums.backward.gemm);
  const double host_b = sums.backward.host + sums.rerun.host;
  if (sums.forward.sync > 0) {
    const Both seconds = soft_max(Both{f, b}, Both{sums.forward.host, host_b});
    t.forward_s = seconds[0];
    t.backward_s = seconds[1];
  } else {
    const double both = soft_max(f + b, sums.forward.host + host_b), share = f / std::max(f + b, 1e-30);
    t.forward_s = both * share;
    t.backward_s = both * (1 - share);
  }
  t.host_extra = std::max(0.0, t.forward_s + t.backward_s - f - b);
  t.backward_s += t.offload_exposed;
  if (e.work(stage).vision) t.vision = vision_seconds(e, wait);
  t.forward_s += t.vision.forward;
  t.backward_s += t.vision.backward;
  return t;
}

StagePasses stage_passes(const Evaluation& e, int stage, double copy) {
  StagePasses passes;
  for_each_timed_part(e, stage, [&](const Part& part, int n) {
    passes.forward.add(part.passes->time.forward, n);
    passes.backward.add(part.passes->time.backward, n);
  });
  passes.forward.hidden += copy;
  passes.backward.hidden += copy;
  return passes;
}

}  // namespace shardfit::estimate
