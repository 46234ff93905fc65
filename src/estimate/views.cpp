// SPDX-License-Identifier: Apache-2.0
#include "estimate/views.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/gradient_traffic.hpp"
#include "estimate/stage_load.hpp"
#include "estimate/step.hpp"

namespace shardfit::estimate {
namespace {

std::string_view hides_name(block::Hides h) {
  switch (h) {
    case block::Hides::gemm: return "gemm";
    case block::Hides::attention: return "attention";
    case block::Hides::expert_overlap: return "expert overlap";
    default: return "nothing";
  }
}

TrafficRow traffic_row(const char* what, std::string_view phase, int stage, const block::Traffic& call, double calls,
                       const topology::GroupLinks& links, const comm::Network& network) {
  const comm::SentBytes sent = comm::sent_bytes(call, links, network);
  const bool dispatch = call.kind == block::CollectiveKind::dispatch || call.kind == block::CollectiveKind::combine;
  const double once = dispatch ? comm::dispatch_time(call, links, network)
                               : comm::collective_time(call.kind, call.bytes, links, network);
  TrafficRow row;
  row.group = name_of(call.group);
  row.collective = name_of(call.kind);
  row.phase = phase;
  row.what = what;
  row.stage = stage;
  row.calls_per_step = calls;
  row.payload_bytes = call.bytes;
  row.nvlink_bytes_per_step = sent.nvlink * calls;
  row.network_bytes_per_step = sent.network * calls;
  row.busy_s = once * calls;
  row.hides_behind = hides_name(call.hides);
  row.bound_by = name_of(comm::bound_of(call, links, network));
  return row;
}

void add_part_traffic(const Evaluation& e, const Layout& layout, int stage, const Part& part,
                      double copies, double microbatches, std::vector<TrafficRow>& rows) {
  const auto add = [&](const block::Op& op, const block::Work& work, std::string_view phase) {
    for (const block::Traffic& call : work.traffic) {
      const topology::GroupLinks& links = e.parts.links()[call.group];
      if (links.size <= 1) continue;
      rows.push_back(traffic_row(op.name, phase, stage, call, call.calls * copies * microbatches, links, e.parts.network()));
    }
  };
  const Recompute& recompute = layout.recompute;
  for (const block::Op& op : part.ops) {
    add(op, op.forward, "forward");
    add(op, op.backward, "backward");
    if (recompute.granularity == RecomputeGranularity::selective && op.recomputed_by.intersects(recompute.modules))
      add(op, op.forward, "recompute");
    if (recompute.granularity == RecomputeGranularity::full && recompute.method == RecomputeMethod::uniform &&
        op.view != block::View::embedding && op.view != block::View::head)
      add(op, op.forward, "recompute");
  }
}

}  // namespace

std::vector<StageTime> stage_times(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<StageTime> times;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const StageSums sums = stage_sums(problem, e, layout, stage);
    const StageSeconds seconds = stage_seconds(problem, e, layout, grid, stage, sums);
    times.push_back({stage, seconds.forward_s, seconds.backward_s, sums.forward.host, sums.backward.host + sums.rerun.host});
  }
  return times;
}

std::vector<TensorRow> tensor_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<TensorRow> rows;
  const bool selective = layout.recompute.granularity == RecomputeGranularity::selective;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    for (int k = 0; k < problem.layers.size(); ++k) {
      const Part& part = e.parts.kind(k);
      for (const memory::LiveLayers& live : in.layers) {
        if (live.profile != &part.costs->plain) continue;
        for (const block::Op& op : part.ops)
          for (const block::Saved& s : op.saved)
            if (!(selective && s.dropped_by.intersects(layout.recompute.modules)) && s.bytes.value)
              rows.push_back({op.name, s.name, memory::saved_term(op.view), stage, int(live.live), s.bytes});
      }
      for (const memory::LiveLayers& live : in.layers)
        if (live.profile == &part.costs->checkpointed)
          rows.push_back({"checkpoint", "block input", MemoryTerm::saved_checkpoints, stage, int(live.live),
                          live.profile->saved_total()});
    }
  }
  return rows;
}

std::vector<TrafficRow> traffic_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<TrafficRow> rows;
  const double m = grid.microbatches;
  for (int stage = 0; stage < layout.pp; ++stage) {
    for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int copies) {
      add_part_traffic(e, layout, stage, part, copies, m, rows);
    });
    const block::Shapes& s = e.parts.shapes();
    const topology::GroupLinks pp = e.parts.links_of({layout.pp, problem.job.gpus / layout.pp});
    const auto boundary = [&](const char* what, std::string_view phase, bool sends) {
      if (!sends) return;
      const block::Traffic call{.name = what, .group = block::Group::pp, .kind = block::CollectiveKind::send_recv,
                                .bytes = double(s.stream_tokens * s.hidden * s.e)};
      rows.push_back(traffic_row(what, phase, stage, call, m * layout.vpp, pp, e.parts.network()));
    };
    boundary("activations to the next stage", "forward", layout.pp > 1 && (stage + 1 < layout.pp || layout.vpp > 1));
    boundary("gradients to the previous stage", "backward", layout.pp > 1 && (stage > 0 || layout.vpp > 1));
    for_each_data_parallel_call(problem, e, layout, grid, stage, [&](const DataParallelCall& call) {
      block::Traffic t{.name = call.what, .group = call.group, .kind = call.kind, .bytes = call.bytes};
      TrafficRow row = traffic_row(call.what, "step", stage, t, call.calls, e.parts.links_of(call.shape), e.parts.network());
      row.hides_behind = call.gradient ? "backward" : "forward";
      rows.push_back(row);
    });
  }
  return rows;
}

void set_band(const Problem& problem, const Evaluation& e, const Layout&, Estimate& out) {
  // One sigma, from the errors of runs that were left out of the fit (step-time study).
  constexpr double kKnown = 0.05, kHostOrNetwork = 0.10, kNewBlock = 0.15;
  out.time_band = kKnown;
  out.band_reason = "known blocks on a measured GPU";
  const Seconds host = out.time.rows[TimeTerm::host];
  const bool host_bound = host.value > 0.05 * out.step_time_s;
  const bool crosses = e.parts.links()[block::Group::tp_ep].domains > 1;
  if (host_bound) out.time_band = kHostOrNetwork, out.band_reason = "the host decides a part of the step";
  if (crosses) out.time_band = kHostOrNetwork, out.band_reason = "expert traffic crosses NVLink domains";
  bool new_block = problem.vision;
  for (const MixerSpec& m : problem.job.model.text.mixers) new_block |= std::holds_alternative<CompressedMqaSpec>(m.kind);
  if (new_block) {
    out.time_band = kNewBlock;
    out.band_reason = problem.vision ? "few measured runs with a vision tower" : "no measured run has this attention";
  }
}

SampleFigures sample_figures(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid) {
  SampleFigures load;
  if (!problem.vision) return load;
  const workload::SampleLoad& sample = problem.sample;
  load.images_per_sample = sample.images;
  load.visual_tokens_per_sample = sample.visual_tokens;
  load.patches_per_sample = sample.patches;
  load.spread = sample.visual_spread;
  load.tokens_per_sample = sample.tokens;
  load.samples_per_row = workload::samples_per_row(problem.job.training, sample);
  load.waiting_ranks = ranks_waiting_for_images(layout, grid);
  load.executed_sequence = workload::executed_sequence(problem.job, layout, sample, load.waiting_ranks);
  load.visual_tokens_per_microbatch = e.parts.vision_batch().tokens;
  if (load.visual_tokens_per_microbatch > 0)
    load.fullest_microbatch = e.parts.fullest_vision_batch().tokens / load.visual_tokens_per_microbatch;
  load.slowest_rank = image_wait(layout, grid, e.parts.vision_batch().spread);
  return load;
}

void set_remarks(const Problem& problem, const Layout& layout, Estimate& out) {
  const Job& job = problem.job;
  if (layout.overlap.delay_wgrad)
    out.unmodelled.push_back("delayed weight gradients: no effect on time beyond expert overlap is modelled");
  if (job.stack.moe_shared_expert_overlap)
    out.unmodelled.push_back("shared-expert overlap: counted as running in line");
  if (job.stack.nccl_user_buffers) out.unmodelled.push_back("NCCL user buffers: no effect on time or memory is modelled");
  if (problem.vision && job.stack.vision_dp_when_cp && layout.cp > 1)
    out.unmodelled.push_back("vision data parallelism: the gather of visual tokens over context-parallel ranks");
  if (problem.sample.tokens > job.training.sequence_length)
    out.warnings.push_back("samples of " + std::to_string(std::llround(problem.sample.tokens)) + " tokens are longer than rows of " +
                           std::to_string(job.training.sequence_length) + ": counted as cut (training.sequence_length)");
  if (out.sample.executed_sequence > 0 && out.sample.executed_sequence < job.training.sequence_length)
    out.warnings.push_back("rows run at " + std::to_string(out.sample.executed_sequence) +
                           " tokens, the longest of those that wait for one another: this stack does not pad them (stack.vision_pads_when_ep)");
  for (const Alteration& a : alterations(job, layout)) out.warnings.push_back(std::string(a.what));
}

}  // namespace shardfit::estimate
