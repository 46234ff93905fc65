// SPDX-License-Identifier: Apache-2.0
#include "validation/log_reading.hpp"

#include <algorithm>

namespace shardfit::validation {
namespace {

Bytes reserved(const MemoryLedger& l) {
  return l.allocated() + l[MemoryTerm::allocator_reserve] + l[MemoryTerm::graph_reserve];
}

/// The largest over stages and moments of what `read` says of a ledger.
template <class F>
Bytes largest(const Estimate& e, F read) {
  Bytes most;
  for (const StageMemory& s : e.memory) most = std::max(most, read(s.ledger));
  return most;
}

/// The first step's peak: its forward and backward before moments exist, and the state it ends with.
Bytes first_step_peak(const Estimate& e, int stage) {
  return std::max({ledger_of(e, stage, MemoryMoment::first_step).allocated(),
                   ledger_of(e, stage, MemoryMoment::optimizer_step).allocated(),
                   ledger_of(e, stage, MemoryMoment::between_steps).allocated()});
}

bool mentions(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// Whether the run says that its peak was read after the first step, when the optimizer's moments were not there yet.
/// (Megatron prints the peak after the first and again after the second step.)
bool read_after_first_step(const MeasuredRun& run) { return mentions(run.peak_kind, "iteration 1"); }

/// Stages that a reported figure of allocated memory may be of: [first, last].
struct Stages {
  int first, last;
};

/// A figure of a Megatron-Bridge run is taken as the last rank's, of the last stage: its own metrics (TensorBoard, W&B, MLflow)
/// are written there, and so is the end of its log. A line that names its rank, or says that it is over ranks, is another's.
/// Other tools report the most of any. Source: Megatron-Bridge training/state.py (loggers on rank world_size - 1),
/// training/utils/train_utils.py (training_log, report_memory). Since 2026-05-08 (its 55c4e6676) the metrics are the most of
/// the pipeline, but lines of the log are still a rank's own, and rows do not say which they quote. Kind: read up to that day,
/// assumed after it: see docs/residuals.md.
Stages logged_stages(const MeasuredRun& run, const Estimate& e) {
  const int last = e.layout.pp - 1;
  if (mentions(run.peak_kind, "rank-0") || mentions(run.peak_kind, "rank 0")) return {0, 0};
  const bool of_one = run.scenario.job.stack.entry_point == EntryPoint::megatron_bridge &&
                      !mentions(run.peak_kind, "over ranks");
  return {of_one ? last : 0, last};
}

/// The largest over the stages that a log's figure may be of.
template <class F>
Bytes logged(const MeasuredRun& run, const Estimate& e, F peak_of_stage) {
  const Stages stages = logged_stages(run, e);
  Bytes most;
  for (int stage = stages.first; stage <= stages.last; ++stage) most = std::max(most, peak_of_stage(stage));
  return most;
}

/// Of the imbalance that natural routing is taken to have, the part that is there in the second logged step (the 5th to
/// 10th): tokens are not equally frequent, so an untrained router is not balanced either. Source: 59 MoE rows of
/// memory.json, whose median error it brings from -1.9 % (balanced) to 0.1 %. Kind: fitted.
constexpr double kImbalanceOfEarlySteps = 0.75;

/// Whether the optimizer's moments are there in the first step already: loaded with a checkpoint, or made by a step on
/// zeros. Megatron-LM prepares to load whether or not there is anything to load, and for Megatron-FSDP's checkpoints
/// preparing takes such a step. Source: Megatron-LM core/optimizer/distrib_optimizer.py
/// (_init_optimizer_states_with_dummy_values), training/checkpointing.py (load_checkpoint, is_loading).
bool has_moments_at_start(const MeasuredRun& run, bool resumed) {
  const Sharding sharding = run.scenario.base.sharding;
  const bool fsdp = sharding == Sharding::full || sharding == Sharding::optimizer_grads;
  return resumed || (fsdp && run.scenario.job.stack.entry_point == EntryPoint::megatron_lm);
}

/// fp16's dynamic loss scale starts so high (2^32) that the gradients of the first tens of steps overflow: these are
/// skipped, and the optimizer's moments come later. Source: Megatron-LM core/optimizer/grad_scaler.py.
/// A resumed run has the scale that its first part ended with.
bool skips_first_steps(const MeasuredRun& run, bool resumed) {
  return run.scenario.job.training.precision == Precision::fp16 && !resumed;
}

/// The peak of a stage in early steps, when part of the routing's imbalance is not there yet.
double early_peak(const Estimate& e, int stage) {
  const AllocatedPeak peak = allocated_peak(e, stage);
  return double(peak.allocated.value) - (1 - kImbalanceOfEarlySteps) * double(peak.imbalance.value);
}

}  // namespace

const MemoryLedger& ledger_of(const Estimate& e, int stage, MemoryMoment moment) {
  const auto at = std::find_if(e.memory.begin(), e.memory.end(),
                               [&](const StageMemory& s) { return s.stage == stage && s.moment == moment; });
  return at->ledger;
}

AllocatedPeak allocated_peak(const Estimate& e, int stage) {
  const StageMemory* most = most_allocated(e, stage);
  return most ? AllocatedPeak{most->ledger.allocated(), most->ledger[MemoryTerm::routing_imbalance]} : AllocatedPeak{};
}

double logged_first_step(const MeasuredRun& run, const Estimate& e, int stage, bool resumed) {
  if (has_moments_at_start(run, resumed)) return early_peak(e, stage);
  if (skips_first_steps(run, resumed)) return double(ledger_of(e, stage, MemoryMoment::first_step).allocated().value);
  return double(first_step_peak(e, stage).value);
}

double logged_second_step(const MeasuredRun& run, const Estimate& e, int stage) {
  return skips_first_steps(run, run.resumed) ? logged_first_step(run, e, stage, run.resumed) : early_peak(e, stage);
}

Bytes largest_allocated(const Estimate& e) {
  return largest(e, [](const MemoryLedger& l) { return l.allocated(); });
}

Bytes largest_reserved(const Estimate& e) { return largest(e, reserved); }

Bytes logged_peak(const MeasuredRun& run, const Estimate& e) {
  if (read_after_first_step(run)) return logged(run, e, [&](int stage) { return first_step_peak(e, stage); });
  return logged(run, e, [&](int stage) { return allocated_peak(e, stage).allocated; });
}

Bytes reported_peak(const MeasuredRun& run, const Estimate& e) {
  const std::string& kind = run.peak_kind;
  // A header that says what a run takes on its GPU ("stated requirement") counts everything, as nvidia-smi does.
  if (mentions(kind, "requirement")) return largest(e, [](const MemoryLedger& l) { return l.total(); });
  if (mentions(kind, "reserved")) return largest_reserved(e);
  if (kind.rfind("allocated", 0) == 0)  // not a peak: what a log shows between two steps
    return logged(run, e, [&](int stage) { return ledger_of(e, stage, MemoryMoment::between_steps).allocated(); });
  // Megatron-Bridge logs allocated bytes, in 1e9.
  if (mentions(kind, "alloc") || mentions(kind, "1e9")) return logged_peak(run, e);
  return largest(e, [](const MemoryLedger& l) { return l.total(); });
}

}  // namespace shardfit::validation
