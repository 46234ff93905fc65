// SPDX-License-Identifier: Apache-2.0
#include "validation/assumed.hpp"

#include <doctest/doctest.h>

#include "search/small_scenario.hpp"

using namespace shardfit;
using namespace shardfit::validation;

namespace {

MeasuredRun measured(const std::map<std::string, std::string>& fields) {
  MeasuredRun run;
  run.id = "r";
  run.scenario = test::small_scenario();
  run.scenario.base.micro_batch_size = 2;
  run.quantities = {{"step_time_s", 1.0}};
  run.fields = fields;
  return run;
}

}  // namespace

TEST_CASE("a run that states everything varies in nothing") {
  const MeasuredRun run = measured({{"layout.cuda_graph.impl", "none"}});
  CHECK(vary_assumed(run, score(run)).empty());
}

TEST_CASE("each assumed field moves one step, and a rule that it breaks is named") {
  const MeasuredRun run = measured({{"assumed.micro_batch_size", "2"},
                                    {"assumed.recompute.granularity", "none"},
                                    {"assumed.etp", "1"},
                                    {"layout.cuda_graph.impl", "none"}});
  const Row row = score(run);
  REQUIRE(row.scores.size() == 1);
  std::map<std::string, AssumedEffect> found;
  for (const AssumedEffect& effect : vary_assumed(run, row)) found[effect.field + "=" + effect.other] = effect;
  REQUIRE(found.contains("micro_batch_size=1"));
  REQUIRE(found.contains("micro_batch_size=4"));
  REQUIRE(found.contains("recompute=full"));
  REQUIRE(found.contains("etp=2"));
  CHECK(found.size() == 4);
  CHECK(found["micro_batch_size=1"].now == "2");
  REQUIRE(found["recompute=full"].scores.size() == 1);
  CHECK(found["recompute=full"].scores[0].predicted > row.scores[0].predicted);
  for (const auto& [name, effect] : found) CHECK(effect.scores.empty() == !effect.reason.empty());
}

TEST_CASE("graphs that a run does not speak of are put in") {
  const MeasuredRun run = measured({});
  const std::vector<AssumedEffect> found = vary_assumed(run, score(run));
  REQUIRE(found.size() == 1);
  CHECK(found[0].field == "cuda_graph");
}

TEST_CASE("rows of unknown text, taken as full, are run shorter where nothing pads them") {
  MeasuredRun run = measured({{"layout.cuda_graph.impl", "none"}});
  Job& job = run.scenario.job;
  job.model.vision = test::vision_job().model.vision;
  job.training.vision = VisionWorkload{.visual_tokens_per_image = 16, .spread = 0.5};
  run.fields["training.vision"] = "stated";
  const Row row = score(run);
  REQUIRE(row.scores.size() == 1);
  const std::vector<AssumedEffect> found = vary_assumed(run, row);
  REQUIRE(found.size() == 2);
  for (const AssumedEffect& effect : found) {
    CHECK(effect.field == "text_tokens");
    REQUIRE(effect.scores.size() == 1);
    CHECK(effect.scores[0].predicted < row.scores[0].predicted);
  }
  run.scenario.base.pp = 2;
  for (const AssumedEffect& effect : vary_assumed(run, score(run)))
    CHECK(effect.scores[0].predicted == doctest::Approx(score(run).scores[0].predicted));
}
