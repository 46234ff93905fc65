// SPDX-License-Identifier: Apache-2.0
#include "validation/summary.hpp"

#include <doctest/doctest.h>

#include "shardfit/base/error.hpp"
#include "validation/effects.hpp"
#include "validation/filter.hpp"

using namespace shardfit;
using namespace shardfit::validation;

namespace {

MeasuredRun run(const char* id, int tp = 1) {
  MeasuredRun r;
  r.id = id;
  r.scenario.base.tp = tp;
  r.scenario.job.training.global_batch_size = 8;
  return r;
}

Row row(const char* id, double measured, double predicted) {
  Row r;
  r.id = id;
  r.scores = {{"step_time_s", measured, predicted}};
  r.estimate.emplace();
  r.estimate->step_time_s = predicted;
  return r;
}

}  // namespace

TEST_CASE("errors by nearest rank; bias keeps the sign") {
  std::vector<MeasuredRun> runs;
  std::vector<Row> rows;
  const double predicted[] = {1.01, 0.98, 1.03, 0.96, 1.50};
  for (double p : predicted) runs.push_back(run("r")), rows.push_back(row("r", 1, p));
  const Summary s = summarize(runs, rows);
  REQUIRE(s.quantities.size() == 1);
  CHECK(s.quantities[0].median_abs_error == doctest::Approx(0.03));
  CHECK(s.quantities[0].max_abs_error == doctest::Approx(0.5));
  CHECK(s.quantities[0].bias == doctest::Approx(0.01));
}

TEST_CASE("order: only pairs that differ by more than five percent count") {
  const std::vector<MeasuredRun> runs{run("a", 1), run("b", 2), run("c", 4)};
  const Summary s = summarize(runs, {row("a", 1.00, 1.1), row("b", 1.02, 1.0), row("c", 1.20, 1.05)});
  CHECK(s.order.pairs == 2);  // a-c and b-c
  CHECK(s.order.right == 1);  // a-c is predicted the wrong way round
}

TEST_CASE("order: one layout in two releases of its software is no pair of layouts") {
  const std::vector<Row> rows{row("a", 1.0, 1.0), row("b", 1.2, 1.1)};
  CHECK(summarize({run("a"), run("b")}, rows).order.pairs == 0);
  CHECK(summarize({run("a", 1), run("b", 2)}, rows).order.pairs == 1);
  CHECK(summarize({run("a", 1), run("b", 2)}, rows).order.right == 1);
}

TEST_CASE("rank correlation: one swap among three") {
  const std::vector<MeasuredRun> runs{run("a"), run("b"), run("c")};
  const Summary s = summarize(runs, {row("a", 1, 1), row("b", 2, 3), row("c", 3, 2)});
  REQUIRE(s.rank_correlations.size() == 1);
  CHECK(s.rank_correlations[0].rows == 3);
  CHECK(s.rank_correlations[0].correlation == doctest::Approx(0.5));
  CHECK(summarize(runs, {row("a", 1, 1), row("b", 2, 1), row("c", 3, 1)}).rank_correlations.empty());
}

TEST_CASE("verdicts: saying always 'fits' has a balanced accuracy of a half") {
  std::vector<MeasuredRun> runs;
  std::vector<Row> rows;
  for (int i = 0; i < 10; ++i) {
    runs.push_back(run("r"));
    rows.push_back(row("r", 1, 1));
    rows.back().verdict = {i < 3, false, 0.0};
  }
  const VerdictSummary v = summarize(runs, rows).verdicts;
  CHECK(v.balanced_accuracy == doctest::Approx(0.5));
  CHECK(v.brier == doctest::Approx(0.3));
  CHECK(v.oom == 3);
  CHECK(v.oom_caught == 0);
}

TEST_CASE("filters read fields and quantities, with units") {
  MeasuredRun r = run("x");
  r.fields = {{"hardware", "gb200-nvl72"}, {"tuned", "true"}, {"tp", "4"}};
  r.quantities = {{"static_allocated_bytes", 5.0 * double(kGiB)}};
  CHECK(Filter("hardware=gb200-nvl72").accepts(r));
  CHECK_FALSE(Filter("hardware!=gb200-nvl72").accepts(r));
  CHECK(Filter("tuned").accepts(r));
  CHECK(Filter("static>4GiB").accepts(r));
  CHECK_FALSE(Filter("static>5GiB").accepts(r));
  CHECK(Filter("tp<8").accepts(r));
  CHECK_FALSE(Filter("nosuch=1").accepts(r));
  CHECK_THROWS_AS(Filter("static>lots"), InputError);
  CHECK_THROWS_AS(Filter("=3"), InputError);
}

TEST_CASE("an effect is judged by sign, and by size within a third") {
  const std::vector<MeasuredRun> runs{run("a"), run("b")};
  const std::vector<Row> rows{row("a", 1, 1.0), row("b", 0.7, 0.75)};
  MeasuredEffect effect;
  effect.id = "e";
  effect.a = "a";
  effect.b = "b";
  effect.quantity = "step_time_per_token";
  effect.measured = 0.7;
  effect.noise = 0.02;
  effect.clean = true;
  const Effects scored = score_effects({effect}, runs, rows);
  CHECK(scored.summary.clean_above_noise == 1);
  CHECK(scored.summary.sign_right == 1);
  CHECK(scored.summary.size_right == 1);  // ln 0.75 / ln 0.7 = 0.81
  effect.b = "nowhere";
  CHECK(score_effects({effect}, runs, rows).summary.predicted == 0);
}

TEST_CASE("verdicts by framework: each group has its own") {
  std::vector<MeasuredRun> runs{run("a"), run("b"), run("c")};
  runs[2].scenario.job.stack.framework = Framework::torch_fsdp2;
  std::vector<Row> rows{row("a", 1, 1), row("b", 1, 1), row("c", 1, 1)};
  rows[0].verdict = {true, true, 0.8};
  rows[1].verdict = {false, false, 0.1};
  rows[2].verdict = {true, false, 0.4};
  const auto groups = verdicts_by(runs, rows, VerdictField::framework);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].group == "megatron");
  CHECK(groups[0].verdicts.rows == 2);
  CHECK(groups[0].verdicts.oom_caught == 1);
  CHECK(groups[0].verdicts.fits_right == 1);
  CHECK(groups[1].group == "torch_fsdp2");
  CHECK(groups[1].verdicts.oom == 1);
  CHECK(groups[1].verdicts.oom_caught == 0);
}
