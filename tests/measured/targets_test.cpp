// SPDX-License-Identifier: Apache-2.0
// Real runs, carried with their sources, held against the model. The limits are what the model reaches today, a little above:
// a change that makes predictions worse fails here. docs/accuracy.md has the whole picture.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/load.hpp"
#include "validation/effects.hpp"
#include "validation/filter.hpp"
#include "validation/summary.hpp"

using namespace shardfit;
using namespace shardfit::validation;

namespace {

std::string file(const char* name) { return std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/" + name; }

struct Scored {
  std::vector<MeasuredRun> runs;
  std::vector<Row> rows;
  Summary summary;
};

Scored scored(const char* name, const std::vector<const char*>& where = {}, const std::vector<RunFact>& facts = {}) {
  Scored s;
  std::vector<Filter> filters(where.begin(), where.end());
  for (MeasuredRun& run : io::load_measured(file(name))) {
    bool wanted = true;
    for (const Filter& f : filters) wanted &= f.accepts(run);
    if (wanted) s.runs.push_back(std::move(run));
  }
  state_facts(facts, s.runs);
  for (const MeasuredRun& run : s.runs) s.rows.push_back(score(run));
  s.summary = summarize(s.runs, s.rows);
  return s;
}

/// Share of rows whose error is within 1 % or `mebibytes`.
double within(const Scored& s, const char* name, double mebibytes) {
  int all = 0, close = 0;
  for (const Row& row : s.rows)
    for (const Score& score : row.scores) {
      if (score.name != name) continue;
      ++all;
      close += std::abs(score.predicted - score.measured) <= std::max(mebibytes * (1 << 20), 0.01 * score.measured);
    }
  return all ? double(close) / all : 0;
}

const QuantitySummary& quantity(const Summary& s, const char* name) {
  for (const QuantitySummary& q : s.quantities)
    if (q.quantity == name) return q;
  FAIL("no quantity ", name);
  throw 0;
}

}  // namespace

TEST_CASE("memory of Megatron-LM's functional tests and of SimuMax's B200 runs") {
  // Without the stated facts a resumed run is scored as one that began fresh.
  const Scored s = scored("memory.json", {}, io::load_facts(file("facts.json")));
  CHECK(s.summary.ok >= 0.97 * s.summary.rows);
  CHECK(quantity(s.summary, "static_allocated_bytes").median_abs_error < 0.006);
  CHECK(quantity(s.summary, "static_allocated_bytes").p90_abs_error < 0.019);
  CHECK(within(s, "static_allocated_bytes", 24) > 0.955);
  CHECK(quantity(s.summary, "peak_allocated_bytes").median_abs_error < 0.005);
  CHECK(quantity(s.summary, "peak_allocated_bytes").p90_abs_error < 0.022);
  CHECK(within(s, "peak_allocated_bytes", 32) > 0.87);
  CHECK(quantity(s.summary, "static_allocated_bytes_by_profile").median_abs_error < 0.0065);
  CHECK(quantity(s.summary, "static_allocated_bytes_by_profile").p90_abs_error < 0.046);
  CHECK(quantity(s.summary, "peak_allocated_first_step_bytes").median_abs_error < 0.0065);
  CHECK(quantity(s.summary, "peak_allocated_first_step_bytes").p90_abs_error < 0.028);
  CHECK(quantity(s.summary, "peak_allocated_second_logged_step_bytes").p90_abs_error < 0.021);
  CHECK(quantity(s.summary, "peak_reserved_mib_by_rank").p90_abs_error < 0.015);
  CHECK(quantity(s.summary, "peak_allocated_mib_by_rank").max_abs_error < 0.013);
}

TEST_CASE("a row says not whether its run resumed: one of the two readings explains its first step") {
  const Scored s = scored("memory.json");
  CHECK(std::none_of(s.runs.begin(), s.runs.end(), [](const MeasuredRun& run) { return run.resumed; }));
  const FirstSteps first = read_first_steps(s.runs, s.rows);
  CHECK(first.rows == 198);
  CHECK(first.stated == 0);
  CHECK(first.either >= 0.62 * first.rows);
  CHECK(quantity(s.summary, "peak_allocated_bytes").p90_abs_error < 0.022);
  CHECK(quantity(s.summary, "peak_allocated_first_step_bytes").median_abs_error < 0.0098);
}

TEST_CASE("step time of tuned runs") {
  const Scored s = scored("throughput.json", {"tuned"});
  CHECK(s.summary.ok >= 0.97 * s.summary.rows);
  const QuantitySummary& step = quantity(s.summary, "step_time_s");
  CHECK(step.median_abs_error < 0.027);
  CHECK(step.p90_abs_error < 0.076);
  CHECK(std::abs(step.bias) < 0.01);
  // Pairs of one layout in two releases are no order of layouts; with them, all predicted equal, 8 of 211 might be wrong.
  CHECK(s.summary.order.pairs >= 171);
  CHECK(s.summary.order.pairs - s.summary.order.right <= 7);
}

TEST_CASE("vision-language runs: FSDP within 12 %, and all in the right order") {
  const Scored s = scored("throughput.json", {"perf_grade=tracker"});
  std::map<std::string, double> tflops;
  for (const Row& row : s.rows) {
    if (!row.id.starts_with("vlm-") || row.status != RowStatus::ok) continue;
    CAPTURE(row.id);
    REQUIRE(row.scores.size() == 1);
    // The 3D rows do not state tp; at the inferred 8 the model is far off (docs/residuals.md), and a fall below this is
    // news too.
    CHECK(std::abs(row.scores[0].error()) < (row.id.find("-3d-") == std::string::npos ? 0.12 : 0.53));
    tflops[row.id.substr(4)] = row.scores[0].predicted;
  }
  CHECK(tflops.size() == 5);
  CHECK(tflops["qwen3vl235b-fsdp-gb200-64"] > tflops["qwen3vl235b-3d-gb200-64-mbs4"]);
  CHECK(tflops["qwen3vl235b-3d-gb200-64-mbs4"] > 1.5 * tflops["qwen3vl235b-3d-gb200-64-mbs1"]);
  CHECK(tflops["qwen3vl235b-3d-gb200-64-mock"] > 1.5 * tflops["qwen3vl235b-3d-gb200-64-mbs1"]);
}

TEST_CASE("layouts that NVIDIA publishes are allowed and fit") {
  const Scored s = scored("published_layouts.json");
  CHECK(s.summary.ok >= 0.99 * s.summary.rows);
  CHECK(s.summary.verdicts.fits_right >= 0.97 * s.summary.verdicts.rows);
}

TEST_CASE("verdicts on reported runs: better than always saying that a run fits") {
  const Scored s = scored("reported_runs.json");
  CHECK(s.summary.verdicts.balanced_accuracy > 0.82);
  CHECK(s.summary.verdicts.brier < 0.0925);  // the base rate alone: 0.164
  CHECK(quantity(s.summary, "peak_gib").median_abs_error < 0.038);
  CHECK(quantity(s.summary, "peak_gib").p90_abs_error < 0.31);
  for (const VerdictGroup& g : verdicts_by(s.runs, s.rows, VerdictField::framework))
    if (g.group == "megatron") CHECK(g.verdicts.balanced_accuracy > 0.7);
}

TEST_CASE("verdicts on free-form reports, mostly of tools outside Megatron-Core: half of them had no part in the model") {
  const Scored s = scored("free_reports.json");
  CHECK(s.summary.ok == s.summary.rows);
  CHECK(s.summary.verdicts.balanced_accuracy > 0.84);
  CHECK(s.summary.verdicts.brier < 0.07);  // the base rate alone: 0.172
  CHECK(quantity(s.summary, "peak_gib").median_abs_error < 0.095);
}

TEST_CASE("no row is skipped: each has a prediction or a reason") {
  for (const char* name :
       {"memory.json", "throughput.json", "published_layouts.json", "reported_runs.json", "free_reports.json"}) {
    for (const Row& row : scored(name).rows) {
      CAPTURE(row.id);
      CHECK(row.status != RowStatus::error);
      CHECK((row.status == RowStatus::ok) == row.reason.empty());
    }
  }
}

TEST_CASE("effects of single changes go the right way") {
  const Scored s = scored("throughput.json");
  const Effects effects = score_effects(io::load_effects(file("effects.json")), s.runs, s.rows);
  CHECK(effects.summary.clean_above_noise == 66);
  CHECK(effects.summary.sign_right >= 55);  // of 66, a predicted "nothing" counting as wrong
  CHECK(effects.summary.size_right >= 0.48 * effects.summary.clean_above_noise);
  CHECK(effects.summary.no_change_right >= 0.97 * effects.summary.no_change);
  // What images cost: freezing the tower, a larger micro-batch, no images.
  for (const EffectRow& row : effects.rows)
    if (row.id == "frozen-01" || row.id == "micro_batch-01" || row.id == "vision_data-01" || row.id == "sharding-01") {
      CAPTURE(row.id);
      REQUIRE(row.predicted);
      CHECK(row.sign_right);
    }
}
