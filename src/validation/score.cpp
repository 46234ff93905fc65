// SPDX-License-Identifier: Apache-2.0
#include "validation/score.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

namespace shardfit::validation {
namespace {

const MemoryLedger& ledger_of(const Estimate& e, int stage, MemoryMoment moment) {
  const auto at = std::find_if(e.memory.begin(), e.memory.end(),
                               [&](const StageMemory& s) { return s.stage == stage && s.moment == moment; });
  return at->ledger;
}

Bytes reserved(const MemoryLedger& l) { return l.allocated() + l[MemoryTerm::allocator_reserve]; }

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

/// Of the imbalance that natural routing is taken to have, the part that is there in the second logged step (the 5th to
/// 10th): tokens are not equally frequent, so an untrained router is not balanced either. Source: 59 MoE rows of
/// memory.json, whose median error it brings from -1.9 % (balanced) to 0.1 %. Kind: fitted.
constexpr double kImbalanceOfEarlySteps = 0.75;

/// Whether the optimizer's moments are there in the first step already: loaded with a checkpoint, or made by a step on
/// zeros. Megatron-LM prepares to load whether or not there is anything to load, and for Megatron-FSDP's checkpoints
/// preparing takes such a step. Source: Megatron-LM core/optimizer/distrib_optimizer.py
/// (_init_optimizer_states_with_dummy_values), training/checkpointing.py (load_checkpoint, is_loading).
bool has_moments_at_start(const MeasuredRun& run) {
  const Sharding sharding = run.scenario.base.sharding;
  const bool fsdp = sharding == Sharding::full || sharding == Sharding::optimizer_grads;
  return run.resumed || (fsdp && run.scenario.job.stack.entry_point == EntryPoint::megatron_lm);
}

/// fp16's dynamic loss scale starts so high (2^32) that the gradients of the first tens of steps overflow: these are
/// skipped, and the optimizer's moments come later. Source: Megatron-LM core/optimizer/grad_scaler.py.
/// A resumed run has the scale that its first part ended with.
bool skips_first_steps(const MeasuredRun& run) {
  return run.scenario.job.training.precision == Precision::fp16 && !run.resumed;
}

/// The peak of a stage in early steps, when part of the routing's imbalance is not there yet.
double early_peak(const Estimate& e, int stage) {
  const AllocatedPeak peak = allocated_peak(e, stage);
  return double(peak.allocated.value) - (1 - kImbalanceOfEarlySteps) * double(peak.imbalance.value);
}

/// The peak of the first step, as far as a log shows it.
double logged_first_step(const MeasuredRun& run, const Estimate& e, int stage) {
  if (has_moments_at_start(run)) return early_peak(e, stage);
  if (skips_first_steps(run)) return double(ledger_of(e, stage, MemoryMoment::first_step).allocated().value);
  return double(first_step_peak(e, stage).value);
}

/// The peak of allocated bytes over stages that a log shows. A prediction: it never looks at what was measured.
Bytes logged_peak(const MeasuredRun& run, const Estimate& e) {
  if (!read_after_first_step(run)) return largest(e, [](const MemoryLedger& l) { return l.allocated(); });
  Bytes first;
  for (int stage = 0; stage < e.layout.pp; ++stage) first = std::max(first, first_step_peak(e, stage));
  return first;
}

/// What a report's "peak GiB" counts, as far as its own words tell.
Bytes reported_peak(const MeasuredRun& run, const Estimate& e) {
  const std::string& kind = run.peak_kind;
  // A header that says what a run takes on its GPU ("stated requirement") counts everything, as nvidia-smi does.
  if (mentions(kind, "requirement")) return largest(e, [](const MemoryLedger& l) { return l.total(); });
  if (mentions(kind, "reserved")) return largest(e, reserved);
  if (kind.rfind("allocated", 0) == 0) {  // not a peak: what a log shows between two steps
    Bytes idle;
    for (int stage = 0; stage < e.layout.pp; ++stage)
      idle = std::max(idle, ledger_of(e, stage, MemoryMoment::between_steps).allocated());
    return idle;
  }
  // Megatron-Bridge logs allocated bytes, in 1e9.
  if (mentions(kind, "alloc") || mentions(kind, "1e9")) return logged_peak(run, e);
  return largest(e, [](const MemoryLedger& l) { return l.total(); });
}

/// A run that logs its first step and no second one has no other peak than that step's. Which quantities a row has says
/// so; what they are is not looked at.
bool logs_one_step(const MeasuredRun& run) {
  return run.quantities.contains("peak_allocated_first_step_bytes") &&
         !run.quantities.contains("peak_allocated_second_logged_step_bytes");
}

std::optional<double> predicted(const MeasuredRun& run, const Estimate& e, const std::string& name) {
  const int last = e.layout.pp - 1;
  if (name == "static_allocated_bytes") return double(ledger_of(e, last, MemoryMoment::between_steps).allocated().value);
  if (name == "peak_allocated_bytes")
    return logs_one_step(run) ? logged_first_step(run, e, last) : double(allocated_peak(e, last).allocated.value);
  if (name == "peak_allocated_first_step_bytes") return logged_first_step(run, e, last);
  if (name == "peak_allocated_second_logged_step_bytes")
    return skips_first_steps(run) ? logged_first_step(run, e, last) : early_peak(e, last);
  if (name == "peak_allocated_gb") return double(logged_peak(run, e).value) / kGB;
  if (name == "peak_gib") return in_gib(reported_peak(run, e));
  if (name == "reserved_gib") return in_gib(largest(e, reserved));
  if (name == "step_time_s" && !run.global_batch_assumed) return e.step_time_s;
  if (name == "tokens_per_s_per_gpu" && !run.global_batch_assumed) return e.tokens_per_s_per_gpu;
  if (name == "tflops_per_gpu" && !run.global_batch_assumed) return e.model_tflops_per_gpu;
  return std::nullopt;
}

void score_quantities(const MeasuredRun& run, const Estimate& e, Row& row) {
  for (const auto& [name, measured] : run.quantities)
    if (const auto value = predicted(run, e, name); value && measured > 0) row.scores.push_back({name, measured, *value});
  for (const auto& [name, by_rank] : run.by_rank) {
    if (by_rank.empty()) continue;
    const double measured = *std::max_element(by_rank.begin(), by_rank.end());
    const Bytes most = name == "peak_reserved_mib_by_rank"
                           ? largest(e, reserved)
                           : largest(e, [](const MemoryLedger& l) { return l.allocated(); });
    row.scores.push_back({name, measured, in_mib(most)});
  }
}

/// Scores the bytes between steps a second time, where a row states figures that were inferred from sizes: now with what
/// the stack's profile makes of them.
void score_static_by_profile(const MeasuredRun& run, Row& row) {
  const auto measured = run.quantities.find("static_allocated_bytes");
  if (measured == run.quantities.end() || !run.stack_by_profile) return;
  Job job = run.scenario.job;
  job.stack = *run.stack_by_profile;
  const Estimate e = Estimator(job).evaluate(run.scenario.base);
  const Bytes bytes = ledger_of(e, e.layout.pp - 1, MemoryMoment::between_steps).allocated();
  row.scores.push_back({"static_allocated_bytes_by_profile", measured->second, double(bytes.value)});
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) all += (all.empty() ? "" : "; ") + t;
  return all;
}

std::string words_of_violation(const Violation& v) {
  const RuleInfo& rule = rules()[std::size_t(v.rule)];
  return std::string(rule.code) + ": " + std::string(rule.condition) + " (" + std::to_string(v.got) + " against " +
         std::to_string(v.need) + ")";
}

/// A row that its source leaves incomplete is held against nothing, but the relation to another run may be: with what is
/// assumed in the place of what is missing. No estimate where that is no layout.
void set_estimate_for_relations(const MeasuredRun& run, Row& row) {
  try {
    const Layout& layout = run.scenario.base;
    if (!first_violation(run.scenario.job, layout)) row.estimate = Estimator(run.scenario.job).evaluate(layout);
  } catch (const std::exception&) {
    row.estimate.reset();   // the row already says why it is not scored
  }
}

}  // namespace

AllocatedPeak allocated_peak(const Estimate& e, int stage) {
  AllocatedPeak peak;
  for (const StageMemory& s : e.memory)
    if (s.stage == stage && s.ledger.allocated() > peak.allocated)
      peak = {s.ledger.allocated(), s.ledger[MemoryTerm::routing_imbalance]};
  return peak;
}

Row score(const MeasuredRun& run) {
  Row row{.id = run.id};
  if (!run.invalid.empty()) {
    row.status = RowStatus::invalid;
    row.reason = run.invalid;
    return row;
  }
  if (!run.unsupported.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = joined(run.unsupported);
    return row;
  }
  if (!run.incomplete.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = "incomplete in its source: " + joined(run.incomplete);
    set_estimate_for_relations(run, row);
    return row;
  }
  try {
    const Layout& layout = run.scenario.base;
    const auto violations = all_violations(run.scenario.job, layout);
    if (!violations.empty()) {
      row.status = RowStatus::invalid;
      row.reason = words_of_violation(violations.front());
      return row;
    }
    row.estimate = Estimator(run.scenario.job).evaluate(layout);
    score_quantities(run, *row.estimate, row);
    score_static_by_profile(run, row);
    if (run.oom) row.verdict = {*run.oom, !row.estimate->verdict.fits, row.estimate->verdict.p_oom};
  } catch (const std::exception& problem) {
    row.status = RowStatus::error;
    row.reason = problem.what();
    row.estimate.reset();
  }
  return row;
}

}  // namespace shardfit::validation
