// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/layout/rules.hpp"
#include "shardfit/layout/stage_plan.hpp"
#include "shardfit/ledger/ledger.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// Bumped whenever a golden number moves; every report names it.
inline constexpr std::string_view kCostModelVersion = "0.1";

/// The bytes of one pipeline stage at one moment.
struct StageMemory {
  int stage = 0;
  MemoryMoment moment = MemoryMoment::between_steps;
  MemoryLedger ledger;
};

/// One collective of a layout, per rank.
struct TrafficRow {
  std::string_view group, collective, phase;  ///< "tp_ep", "dispatch", "forward"
  std::string_view what;                      ///< the operation that calls it
  std::string_view tensor;                    ///< what is sent, where an operation sends more than one: "kv_ring"; else empty
  int stage = 0;                              ///< the stage whose rank this is
  double calls_per_step = 0;
  double payload_bytes = 0;                                      ///< of one call (see block::Traffic)
  double nvlink_bytes_per_step = 0, network_bytes_per_step = 0;  ///< sent by one rank
  double host_bytes_per_step = 0;                                ///< copied over the host link (offload)
  double bytes_per_microbatch = 0;                               ///< of all three, if it happens every micro-batch; else 0
  double busy_s = 0;                                             ///< per step, if nothing hid it
  std::string_view hides_behind;                                 ///< "nothing", "gemm", ...
  std::string_view bound_by;  ///< "NVLink", "NIC", "leaf uplink", "SMs", "latency", "host link"
};

/// Time and memory of one module of the model on one stage, per micro-batch.
struct ModuleRow {
  std::string_view part;    ///< "encoder", "projector" (both of the tower), "decoder"
  std::string_view module;  ///< "router", "experts", "vision_encoder", ..., "checkpoints"
  int stage = 0;
  int layers = 0;
  double forward_s = 0, backward_s = 0;  ///< device, one micro-batch, all its layers on the stage
  double rerun_s = 0;                    ///< forward that backward runs again, beside backward_s
  Bytes saved;                           ///< kept by one micro-batch between its passes
  Bytes state;                           ///< weights, gradients, optimizer state
  std::int64_t parameters = 0;           ///< on the rank
};

/// One kept tensor of one layer kind: the bill's finest row.
struct TensorRow {
  std::string_view op, tensor;
  MemoryTerm term = MemoryTerm::saved_attention;
  int stage = 0;
  int layers_alive = 0;  ///< layers times live micro-batches
  Bytes bytes_each;
};

/// Time of one pipeline stage for one micro-batch.
struct StageTime {
  int stage = 0;
  double forward_s = 0, backward_s = 0;  ///< device and exposed traffic, host included where it binds
  double host_forward_s = 0, host_backward_s = 0;
};

/// What the samples of a vision-language run come to under a layout. All zero without a tower.
struct SampleFigures {
  double images_per_sample = 0, visual_tokens_per_sample = 0, patches_per_sample = 0;
  double spread = 0;                        ///< deviation over mean of a sample's visual tokens
  double tokens_per_sample = 0;             ///< with text; 0: the workload does not say
  double samples_per_row = 1;               ///< above 1: packed
  int executed_sequence = 0;                ///< tokens of the rows that run; below sequence_length where nothing pads
  double visual_tokens_per_microbatch = 0;  ///< on the average rank
  double fullest_microbatch = 1;            ///< over the average, of a step: memory is made for it
  int waiting_ranks = 1;                    ///< ranks that meet before the decoder can go on
  double slowest_rank = 1;                  ///< their largest load over the average: what all of them wait for
};

/// What is known of a layout's memory against the GPU.
struct Verdict {
  bool fits = false;
  double p_oom = 0;    ///< probability that a run dies of memory, from the model's error band
  Bytes need, usable;  ///< device use of the fullest rank; what torch may have
  int stage = 0;
  MemoryMoment moment = MemoryMoment::forward;
  Bytes margin() const { return usable - need; }
};

/// How far the step time may be off: relative, one sigma; and what decides it.
struct TimeBand {
  double relative = 0;
  std::string_view reason;
};

/// Everything about one layout, as a value. Totals are sums of the ledgers.
struct Estimate {
  Layout layout;
  GridSizes grid;
  std::string layout_id;  ///< "tp2-cp1-pp4-..." : stable, parses back to the layout
  StagePlan plan;
  std::vector<StageMemory> memory;  ///< every stage x moment
  std::vector<TensorRow> tensors;
  TimeLedger time;  ///< one step
  std::vector<StageTime> stages;
  std::vector<TrafficRow> traffic;
  int dispatcher_sms = 0;  ///< SMs that the expert library holds while it runs; 0: none of its own
  std::vector<ModuleRow> modules;
  SampleFigures sample;
  Verdict verdict;
  Bytes host_memory;  ///< per GPU, offloaded state and activations
  // read from the ledgers
  double step_time_s = 0;
  double tokens_per_s_per_gpu = 0;  ///< padded rows, as published tables count
  double useful_tokens_per_s_per_gpu = 0;
  double samples_per_s = 0, images_per_s = 0;
  double model_tflops_per_gpu = 0;  ///< published convention: text decoder
  double model_tflops_per_gpu_with_vision = 0;
  double mfu = 0, mfu_peak_tflops = 0;  ///< and its denominator
  double time_band = 0;                 ///< relative error band of the step time, one sigma
  std::string_view band_reason;
  std::vector<std::string> unmodelled;  ///< what the model does not cover in this layout
  std::vector<std::string> warnings;
};

/// The moment of a stage at which torch has most allocated; the first of equal ones. Null for a stage that it has not.
/// Under graphs the device may hold most at another, when a graph's pool is idle but reserved.
const StageMemory* most_allocated(const Estimate& estimate, int stage);

/// The numbers of a layout that a sweep keeps.
struct Quick {
  double step_time_s = 0;
  double tokens_per_s_per_gpu = 0;
  Bytes peak;  ///< device use of the fullest rank
  bool fits = false;
  int peak_stage = 0;
  MemoryMoment peak_moment = MemoryMoment::forward;
  TimeTerm bottleneck = TimeTerm::gemm;
};

/// The same numbers, read from a full estimate.
Quick quick_of(const Estimate& estimate);

}  // namespace shardfit
