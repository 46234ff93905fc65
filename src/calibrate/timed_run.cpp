// SPDX-License-Identifier: Apache-2.0
#include "calibrate/timed_run.hpp"

#include "compute/device.hpp"
#include "compute/model_flops.hpp"
#include "estimate/problem.hpp"
#include "estimate/step.hpp"
#include "shardfit/layout/rules.hpp"

namespace shardfit::calibrate {

/// The part of an estimate that no coefficient changes: kept from call to call.
struct TimedRun::State {
  estimate::Problem problem;
  Layout layout;
  GridSizes grid;
};

namespace {

double step_seconds(const estimate::Problem& problem, const Layout& layout, const GridSizes& grid) {
  estimate::Evaluation e(problem);
  if (!e.prepare(problem, layout, grid)) return 0;  // the rules let only plannable layouts through
  return estimate::step_account(problem, e, layout, grid).ledger.total().value;
}

double tokens_of_step(const TrainingSpec& t) { return double(t.global_batch_size) * t.sequence_length; }

std::string why_not(const validation::MeasuredRun& run) {
  if (!run.invalid.empty()) return run.invalid;
  if (!run.unsupported.empty()) return run.unsupported.front();
  if (!run.incomplete.empty()) return "incomplete in its source: " + run.incomplete.front();
  const auto violations = all_violations(run.scenario.job, run.scenario.base);
  if (!violations.empty()) return std::string(rules()[std::size_t(violations.front().rule)].code);
  return measured_step_seconds(run) ? "" : "no step time, tokens/s or TFLOP/s of a stated batch";
}

}  // namespace

TimedRun::TimedRun(const validation::MeasuredRun& run, double measured_s)
    : id_(run.id), release_(run.release), measured_s_(measured_s) {
  const Job& job = run.scenario.job;
  const Layout& layout = run.scenario.base;
  state_ = std::make_unique<State>(
      State{estimate::Problem(job), layout, grid_sizes(layout, job.gpus, job.training.global_batch_size)});
}

TimedRun::~TimedRun() = default;
TimedRun::TimedRun(TimedRun&&) noexcept = default;

const Job& TimedRun::job() const { return state_->problem.job; }

double TimedRun::seconds(const TimeCoefficients& time, double sustained_factor) {
  estimate::Problem& problem = state_->problem;
  for (std::size_t c = 0; c < kCount<Coefficient>; ++c)
    problem.job.time.values[Coefficient(c)].value = time.values[Coefficient(c)].value;
  problem.job.hardware.gpu.sustained_factor.value = sustained_factor;
  problem.device = compute::make_device(problem.job);
  return step_seconds(problem, state_->layout, state_->grid);
}

double TimedRun::seconds(const HardwareSpec& hardware) const {
  Job job = state_->problem.job;
  job.hardware = hardware;
  return step_seconds(estimate::Problem(std::move(job)), state_->layout, state_->grid);
}

std::optional<double> measured_step_seconds(const validation::MeasuredRun& run) {
  if (run.global_batch_assumed) return std::nullopt;
  const auto stated = [&run](const char* name) {
    const auto at = run.quantities.find(name);
    return at == run.quantities.end() ? 0.0 : at->second;
  };
  const Job& job = run.scenario.job;
  const double tokens = tokens_of_step(job.training) / job.gpus;
  if (const double s = stated("step_time_s"); s > 0) return s;
  if (const double rate = stated("tokens_per_s_per_gpu"); rate > 0) return tokens / rate;
  if (const double tflops = stated("tflops_per_gpu"); tflops > 0)
    return tokens * compute::model_flops_per_token(job, run.scenario.base.tp) / (tflops * 1e12);
  return std::nullopt;
}

std::vector<TimedRun> timed_runs(const std::vector<validation::MeasuredRun>& runs, std::vector<std::string>& left_out) {
  std::vector<TimedRun> timed;
  for (const validation::MeasuredRun& run : runs) {
    if (const std::string reason = why_not(run); !reason.empty())
      left_out.push_back(run.id + ": " + reason);
    else
      timed.emplace_back(run, *measured_step_seconds(run));
  }
  return timed;
}

}  // namespace shardfit::calibrate
