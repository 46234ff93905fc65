// SPDX-License-Identifier: Apache-2.0
#include "calibrate/shared_fit.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "cli/cli.hpp"
#include "io/load.hpp"
#include "validation/filter.hpp"

using namespace shardfit;
using namespace shardfit::calibrate;

namespace {

const std::string kRuns = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/throughput.json";

std::vector<validation::MeasuredRun> tuned_runs() {
  const validation::Filter tuned("tuned");
  std::vector<validation::MeasuredRun> runs;
  for (validation::MeasuredRun& run : io::load_measured(kRuns))
    if (tuned.accepts(run)) runs.push_back(std::move(run));
  return runs;
}

int calibrate_command(std::vector<std::string> args, std::string& err) {
  args.insert(args.begin(), "calibrate");
  std::ostringstream out, talk;
  const int code = cli::run(args, out, talk);
  err = talk.str();
  return code;
}

}  // namespace

TEST_CASE("a fit recovers coefficients from runs that were predicted with them") {
  std::vector<std::string> left_out;
  std::vector<TimedRun> real = timed_runs(tuned_runs(), left_out);
  REQUIRE(real.size() > 30);
  TimeCoefficients truth = real.front().job().time;
  truth.values[Coefficient::memory_blackwell].value *= 0.9;  // within what the fit holds plausible
  truth.values[Coefficient::overlap_slowdown].value *= 1.2;
  const double slower = 0.95;
  std::vector<TimedRun> made;
  for (const validation::MeasuredRun& run : tuned_runs())
    if (measured_step_seconds(run)) {
      TimedRun timed(run, 1);
      made.emplace_back(run, timed.seconds(truth, slower * run.scenario.job.hardware.gpu.sustained_factor.value));
    }
  const SharedFit fit = fit_shared(made, {.hold_out = true, .leave_out = false});
  CHECK(fit.before.median > 0.03);
  CHECK(fit.after.median < 0.005);
  CHECK(fit.held_out.median < 0.01);
  for (const FittedShared& v : fit.variables)
    if (v.of.coefficient == Coefficient::memory_blackwell)
      CHECK(v.value == doctest::Approx(truth[Coefficient::memory_blackwell]).epsilon(0.1));
}

TEST_CASE("the held-out quarter is about a quarter, and the same every time") {
  int held = 0;
  for (int i = 0; i < 1000; ++i) held += is_held_out("run-" + std::to_string(i));
  CHECK(held > 200);
  CHECK(held < 300);
  CHECK(is_held_out("run-1") == is_held_out("run-1"));
}

TEST_CASE("error statistics: medians by nearest rank, bias with its sign") {
  const ErrorStats s = error_stats({-0.1, 0.02, 0.04, -0.2});
  CHECK(s.median == doctest::Approx(0.04));
  CHECK(s.max == doctest::Approx(0.2));
  CHECK(s.bias == doctest::Approx(-0.1));
}

TEST_CASE("the command refuses what it cannot fit to") {
  std::string err;
  CHECK(calibrate_command({"no-such-file.json"}, err) == 2);
  CHECK(err.find("no-such-file.json") != std::string::npos);
  CHECK(calibrate_command({kRuns, "--where", "model=NoSuchModel"}, err) == 2);
  CHECK(calibrate_command({kRuns, "--where", "tuned"}, err) == 2);
  CHECK(err.find("--where hardware=") != std::string::npos);
}

TEST_CASE("the command takes one run") {
  std::string err;
  const std::string id = tuned_runs().front().id;
  CHECK(calibrate_command({kRuns, "--where", "id=" + id}, err) == 0);
}
