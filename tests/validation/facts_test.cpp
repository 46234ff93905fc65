// SPDX-License-Identifier: Apache-2.0
#include "validation/facts.hpp"

#include <doctest/doctest.h>

using namespace shardfit::validation;

TEST_CASE("a star of a pattern stands for any text, also for none") {
  CHECK(is_of_pattern("a/b_2nd", "a/*_2nd"));
  CHECK(is_of_pattern("a/_2nd", "a/*_2nd"));
  CHECK(is_of_pattern("a/b_2nd_2nd", "a/*_2nd"));
  CHECK(is_of_pattern("abcabd", "*b*d"));
  CHECK(is_of_pattern("", "*"));
  CHECK(is_of_pattern("a", "a"));
  CHECK_FALSE(is_of_pattern("a/b_2nd_x", "a/*_2nd"));
  CHECK_FALSE(is_of_pattern("x/b_2nd", "a/*_2nd"));
  CHECK_FALSE(is_of_pattern("ab", "a"));
  CHECK_FALSE(is_of_pattern("a", "ab"));
}

TEST_CASE("a fact is stated of the runs that it names and of no other") {
  std::vector<MeasuredRun> runs(3);
  runs[0].id = "lab/a_2nd";
  runs[1].id = "lab/a";
  runs[2].id = "other/a_2nd";
  const RunFact second{.runs = "lab/*_2nd", .resumed = true, .source = "the lab's naming"};
  const RunFact none{.runs = "nobody", .resumed = true, .source = "-"};
  CHECK(state_facts({second, none}, runs) == std::vector<int>{1, 0});
  CHECK(runs[0].resumed);
  CHECK_FALSE(runs[1].resumed);
  CHECK_FALSE(runs[2].resumed);
}
