// SPDX-License-Identifier: Apache-2.0
// A sweep in parts - stopped and taken up again, or in shards - finds what one sweep finds.
#include "shardfit/search/partial.hpp"

#include <doctest/doctest.h>

#include "search/small_scenario.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

struct World {
  Scenario scenario = small_scenario(), more = small_scenario();
  std::vector<Estimator> estimators;
  World() {
    more.job.gpus = 32;
    estimators.emplace_back(scenario.job);
    estimators.emplace_back(more.job);
  }
  Study study() const { return Study({{&scenario, &estimators[0]}, {&more, &estimators[1]}}, {}); }
};

void check_same(const PartialSweep& a, const PartialSweep& b) {
  CHECK(a.done == b.done);
  CHECK(a.units == b.units);
  CHECK(a.evaluated == b.evaluated);
  CHECK(a.valid == b.valid);
  CHECK(a.fit == b.fit);
  REQUIRE(a.best.size() == b.best.size());
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    CHECK(a.best[i].candidate.index == b.best[i].candidate.index);
    CHECK(a.best[i].score == b.best[i].score);
  }
  REQUIRE(a.front.size() == b.front.size());
  for (std::size_t i = 0; i < a.front.size(); ++i) CHECK(a.front[i].candidate.index == b.front[i].candidate.index);
  for (std::size_t i = 0; i < a.with_more_memory.size(); ++i) {
    REQUIRE(a.with_more_memory[i].has_value() == b.with_more_memory[i].has_value());
    if (a.with_more_memory[i]) CHECK(a.with_more_memory[i]->candidate.index == b.with_more_memory[i]->candidate.index);
  }
  REQUIRE(a.rejected.size() == b.rejected.size());
  for (std::size_t i = 0; i < a.rejected.size(); ++i) {
    CHECK(a.rejected[i].rule == b.rejected[i].rule);
    CHECK(a.rejected[i].count == b.rejected[i].count);
    CHECK(a.rejected[i].example == b.rejected[i].example);
  }
}

}  // namespace

TEST_CASE("a sweep that is stopped again and again ends where one sweep ends") {
  const World world;
  const Study study = world.study();
  SweepOptions options;
  options.threads = 2;
  const PartialSweep whole = search_part(study, options);
  CHECK(whole.complete());
  int asked = 0, stops = 0;
  options.interrupted = [&asked] { return ++asked % 7 == 0; };
  options.threads = 1;
  PartialSweep part;
  do {
    part = search_part(study, options, std::move(part));
    ++stops;
    REQUIRE(stops < 1000);
  } while (!part.complete());
  CHECK(stops > 3);
  check_same(part, whole);
}

TEST_CASE("shards merge into the whole, for any number of them and in any order") {
  const World world;
  const Study study = world.study();
  SweepOptions options;
  const PartialSweep whole = search_part(study, options);
  for (std::uint32_t n : {1u, 2u, 3u, 7u, 1000u}) {
    CAPTURE(n);
    std::vector<PartialSweep> parts;
    for (std::uint32_t i = n; i-- > 0;) {
      options.shard = {i, n};
      parts.push_back(search_part(study, options));
      CHECK(parts.back().complete());
    }
    check_same(merged(std::move(parts), study, options), whole);
  }
}

TEST_CASE("shards that do not make a whole are refused") {
  const World world;
  const Study study = world.study();
  SweepOptions options;
  std::vector<PartialSweep> parts;
  for (std::uint32_t i = 0; i < 3; ++i) {
    options.shard = {i, 3};
    parts.push_back(search_part(study, options));
  }
  CHECK_NOTHROW(merged(parts, study, options));
  CHECK_THROWS_AS(merged({parts[0], parts[2]}, study, options), InputError);
  CHECK_THROWS_AS(merged({parts[0], parts[1], parts[1]}, study, options), InputError);
  std::vector<PartialSweep> unfinished = parts;
  unfinished[1].done -= 1;
  CHECK_THROWS_AS(merged(unfinished, study, options), InputError);
  options.shard = {0, 2};
  CHECK_THROWS_AS(merged({search_part(study, options), parts[1]}, study, options), InputError);
}

TEST_CASE("a checkpoint is what is known, and can be taken up") {
  const World world;
  const Study study = world.study();
  SweepOptions options;
  options.threads = 2;
  options.checkpoint_s = 0;
  std::vector<PartialSweep> told;
  options.checkpoint = [&told](const PartialSweep& part) { told.push_back(part); };
  const PartialSweep whole = search_part(study, options);
  REQUIRE(told.size() > 5);
  for (std::size_t i : {std::size_t(0), told.size() / 2, told.size() - 1}) {
    SweepOptions plain;
    check_same(search_part(study, plain, told[i]), whole);
  }
}
