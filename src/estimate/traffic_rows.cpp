// SPDX-License-Identifier: Apache-2.0
// Computes:   the traffic ledger: every collective of one rank of each stage, with what it sends and how long it is busy.
// Formula:    calls of an operation * layers * micro-batches; recompute sends the forward of what it covers once more; a
//             stage sends each chunk's output on, but for the last chunk of the last stage, and each chunk's input gradient
//             back, but for the first chunk of the first stage.
// Source:     the operation lists at the stated routing, gradient_traffic.hpp, stage_load.hpp, step.hpp: what time reads.
// Valid when: the rank is the busiest of its stage where experts are imbalanced.
// Ignores:    scalars (losses, token counts), probabilities of routed tokens.
// Checked by: tests/oracle/traffic_test.cpp, rank by rank.

#include "compute/optimizer_step.hpp"
#include "estimate/gradient_traffic.hpp"
#include "estimate/stage_load.hpp"
#include "estimate/step.hpp"
#include "estimate/views.hpp"

namespace shardfit::estimate {
namespace {

using block::CollectiveKind;
using block::Group;

std::string_view hides_name(block::Hides h) {
  switch (h) {
    case block::Hides::gemm: return "gemm";
    case block::Hides::attention: return "attention";
    case block::Hides::expert_overlap: return "expert overlap";
    default: return "nothing";
  }
}

/// Collects the rows of one stage.
class StageTraffic {
 public:
  StageTraffic(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
               std::vector<TrafficRow>& rows)
      : problem_(problem), e_(e), layout_(layout), grid_(grid), stage_(stage), rows_(rows) {}

  void add_all() {
    for_each_part(problem_, e_.parts, e_.plan, stage_, [&](const Part& part, int copies) { add_part(part, copies); });
    if (layout_.recompute.granularity == RecomputeGranularity::full) add_full_recompute();
    if (problem_.vision && e_.work(stage_).vision) add_tower_rerun();
    add_pipeline();
    add_data_parallel();
    add_host_copies();
  }

 private:
  TrafficRow& add(const char* what, std::string_view phase, const block::Traffic& call, double calls,
                  const topology::GroupLinks& links) {
    const comm::Network& network = e_.parts.network();
    const comm::SentBytes sent = comm::sent_bytes(call, links, network);
    const double once = comm::call_time(call, links, network);
    TrafficRow row;
    row.group = name_of(call.group);
    row.collective = name_of(call.kind);
    row.phase = phase;
    row.what = what;
    row.stage = stage_;
    row.calls_per_step = calls;
    row.payload_bytes = call.bytes;
    row.nvlink_bytes_per_step = sent.nvlink * calls;
    row.network_bytes_per_step = sent.network * calls;
    row.busy_s = once * calls;
    row.hides_behind = hides_name(call.hides);
    row.bound_by = name_of(comm::bound_of(call, links, network));
    rows_.push_back(row);
    return rows_.back();
  }

  void set_per_microbatch(TrafficRow& row) const {
    row.bytes_per_microbatch = (row.nvlink_bytes_per_step + row.network_bytes_per_step + row.host_bytes_per_step) /
                               grid_.microbatches;
  }

  void add_work(const block::Op& op, const block::Work& work, std::string_view phase, double layers) {
    for (const block::Traffic& call : work.traffic) {
      const topology::GroupLinks& links = e_.parts.links()[call.group];
      if (links.size > 1) {
        TrafficRow& row = add(op.name, phase, call, call.calls * layers * grid_.microbatches, links);
        row.tensor = call.name;
        set_per_microbatch(row);
      }
    }
  }

  void add_part(const Part& part, int copies) {
    const Recompute& recompute = layout_.recompute;
    for (const block::Op& op : part.loaded) {
      add_work(op, op.forward, "forward", copies);
      add_work(op, op.backward, "backward", copies);
      if (recompute.granularity == RecomputeGranularity::selective && op.recomputed_by.intersects(recompute.modules))
        add_work(op, op.forward, "recompute", copies);
    }
  }

  void add_again(const Part& part, double copies) {
    if (copies > 0)
      for (const block::Op& op : part.loaded) add_work(op, op.forward, "recompute", copies);
  }

  void add_tower_rerun() {
    const memory::CheckpointedLayers again = tower_checkpoints(problem_.job, layout_.recompute);
    const int depth = problem_.job.model.vision->depth;
    if (again.checkpoints > 0) add_again(e_.parts.vision_layers(), double(depth - again.plain) / depth);
  }

  /// What stage_load runs again: layers of a chunk by method, MTP layers under uniform.
  void add_full_recompute() {
    const bool uniform = layout_.recompute.method == RecomputeMethod::uniform;
    for (int k = 0; k < problem_.layers.size(); ++k)
      add_again(e_.parts.kind(k), rerun_layers(problem_, e_, layout_.recompute, stage_, k));
    for (int v = 0; v < e_.plan.vpp; ++v) {
      const Chunk& chunk = e_.plan.at(stage_, v);
      if (uniform && chunk.mtp_layers > 0) add_again(e_.parts.mtp(true), 1);
      if (uniform && chunk.mtp_layers > 1) add_again(e_.parts.mtp(false), chunk.mtp_layers - 1);
    }
  }

  void add_pipeline() {
    if (layout_.pp == 1) return;
    const block::Shapes& s = e_.parts.shapes();
    const topology::GroupLinks across = e_.parts.links_of(group_shapes(layout_, grid_).pp);
    topology::GroupLinks inside = across;
    inside.domains = 1;
    const auto boundary = [&](const char* what, std::string_view phase, bool at_the_end, int other) {
      const int chunks = layout_.vpp - (at_the_end ? 1 : 0);
      if (chunks == 0) return;
      const double leaving = share_in_another_domain(other);
      const block::Traffic call{.name = what,
                                .group = Group::pp,
                                .kind = CollectiveKind::send_recv,
                                .bytes = double(s.stream_tokens * s.hidden * s.e)};
      TrafficRow& row = add(what, phase, call, double(grid_.microbatches) * chunks, leaving > 0 ? across : inside);
      const double sent = row.nvlink_bytes_per_step + row.network_bytes_per_step;
      row.network_bytes_per_step = sent * leaving;
      row.nvlink_bytes_per_step = sent - row.network_bytes_per_step;
      set_per_microbatch(row);
    };
    const int pp = layout_.pp;
    boundary("activations to the next stage", "forward", stage_ + 1 == pp, (stage_ + 1) % pp);
    boundary("gradients to the previous stage", "backward", stage_ == 0, (stage_ + pp - 1) % pp);
  }

  /// Of the ranks of this stage, those whose partner on another stage lies in another NVLink domain.
  double share_in_another_domain(int other) const {
    int ranks = 0, leaving = 0;
    for (int rank = 0; rank < grid_.gpus; ++rank) {
      DenseCoordinates at = dense_coordinates(layout_, grid_, rank);
      if (at.pp != stage_) continue;
      at.pp = other;
      ++ranks;
      leaving += problem_.cluster.domain_of(rank) != problem_.cluster.domain_of(rank_of(layout_, grid_, at));
    }
    return double(leaving) / ranks;
  }

  void add_data_parallel() {
    for_each_data_parallel_call(problem_, e_, layout_, grid_, stage_, [&](const DataParallelCall& call) {
      const block::Traffic t{.name = call.what, .group = call.group, .kind = call.kind, .bytes = call.bytes};
      TrafficRow& row = add(call.what, "step", t, call.calls, e_.parts.links_of(call.shape));
      row.busy_s = call.seconds * call.calls;  // as SHARP has it, where that reduces
      row.hides_behind = call.exposed ? "nothing" : call.gradient ? "backward" : "forward";
      const bool whole = layout_.sharding == Sharding::full || layout_.sharding == Sharding::full_torch;
      const bool scatters = call.kind == CollectiveKind::reduce_scatter;
      if ((whole && (scatters || call.kind == CollectiveKind::all_gather)) ||
          (layout_.sharding == Sharding::optimizer_grads && scatters))
        set_per_microbatch(row);  // Megatron-FSDP and FSDP2
    });
  }

  TrafficRow& add_host(const char* what, std::string_view phase, double bytes, double calls) {
    TrafficRow row;
    row.group = "host";
    row.collective = "copy";
    row.phase = phase;
    row.what = what;
    row.stage = stage_;
    row.calls_per_step = calls;
    row.payload_bytes = bytes;
    row.host_bytes_per_step = bytes * calls;
    row.busy_s = bytes * calls / (problem_.job.hardware.node.host_link_gb_per_s.value * kGB);
    row.hides_behind = phase == "step" ? "nothing" : "gemm";
    row.bound_by = "host link";
    rows_.push_back(row);
    return rows_.back();
  }

  void add_host_copies() {
    if (const Bytes bytes = offloaded_activations(problem_, e_, layout_, stage_); bytes.value > 0) {
      set_per_microbatch(add_host("activations to the host", "forward", double(bytes.value), grid_.microbatches));
      set_per_microbatch(add_host("activations from the host", "backward", double(bytes.value), grid_.microbatches));
    }
    const compute::OptimizerLoad load = optimizer_load(problem_, e_, layout_, grid_, stage_);
    const double elements = load.shard_elements * load.offload_fraction;
    if (elements <= 0) return;
    add_host("gradients to the host", "step", elements * compute::kHostLinkBytesPerElement / 2, 1);
    add_host("weights from the host", "step", elements * compute::kHostLinkBytesPerElement / 2, 1);
  }

  const Problem& problem_;
  Evaluation& e_;
  const Layout& layout_;
  const GridSizes& grid_;
  int stage_;
  std::vector<TrafficRow>& rows_;
};

}  // namespace

std::vector<TrafficRow> traffic_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<TrafficRow> rows;
  for (int stage = 0; stage < layout.pp; ++stage) StageTraffic(problem, e, layout, grid, stage, rows).add_all();
  return rows;
}

}  // namespace shardfit::estimate
