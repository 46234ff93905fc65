// SPDX-License-Identifier: Apache-2.0
#include "search/archive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace shardfit;
using namespace shardfit::search;

namespace {

Candidate candidate(std::uint64_t index, double step, std::int64_t peak) {
  Candidate c;
  c.index = index;
  c.quick.step_time_s = step;
  c.quick.peak = Bytes(peak);
  return c;
}

std::vector<Candidate> random_candidates(unsigned seed, int n) {
  std::mt19937 random(seed);
  std::vector<Candidate> v;
  for (int i = 0; i < n; ++i) v.push_back(candidate(std::uint64_t(i), 1 + random() % 20, std::int64_t(random() % 20)));
  return v;
}

FrontPoint point(const Candidate& c) { return {{c.quick.step_time_s, double(c.quick.peak.value)}, c}; }

/// The slow obvious front: nobody at least as good in both and better, or equal with a lower index.
std::vector<std::uint64_t> front_by_definition(const std::vector<Candidate>& all) {
  std::vector<std::uint64_t> out;
  for (const Candidate& a : all) {
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const Candidate& b) {
      if (b.quick.step_time_s > a.quick.step_time_s || b.quick.peak > a.quick.peak) return false;
      const bool equal = b.quick.step_time_s == a.quick.step_time_s && b.quick.peak == a.quick.peak;
      return equal ? b.index < a.index : true;
    });
    if (!beaten) out.push_back(a.index);
  }
  return out;
}

}  // namespace

TEST_CASE("the front is the one of the definition, whatever the order of arrival") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto all = random_candidates(seed, 60);
    auto expected = front_by_definition(all);
    std::shuffle(all.begin(), all.end(), std::mt19937(seed + 1));
    ParetoFront a(2), b(2);
    for (std::size_t i = 0; i < all.size(); ++i) (i % 2 ? a : b).add(point(all[i]));
    a.merge(b);
    std::vector<std::uint64_t> got;
    for (const FrontPoint& p : a.sorted()) got.push_back(p.candidate.index);
    std::sort(got.begin(), got.end());
    CHECK(got == expected);
  }
}

TEST_CASE("top-k keeps the fastest, ties by index, in any order of arrival") {
  auto all = random_candidates(7, 200);
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.quick.step_time_s, a.index) < std::pair(b.quick.step_time_s, b.index);
  });
  std::shuffle(all.begin(), all.end(), std::mt19937(3));
  TopK a(10), b(10);
  for (std::size_t i = 0; i < all.size(); ++i) (i % 3 ? a : b).add({all[i].quick.step_time_s, all[i]});
  b.merge(a);
  const auto got = b.sorted();
  REQUIRE(got.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(got[i].candidate.index == sorted[i].index);
}

TEST_CASE("a front of four metrics is the one of the definition, in any order of arrival") {
  std::mt19937 random(5);
  std::vector<FrontPoint> all;
  for (std::uint64_t i = 0; i < 300; ++i) {
    FrontPoint p{{}, candidate(i, 1, 1)};
    for (double& score : p.scores) score = double(random() % 6);
    all.push_back(p);
  }
  const auto no_worse = [](const FrontPoint& a, const FrontPoint& b) {
    for (std::size_t i = 0; i < 4; ++i)
      if (a.scores[i] > b.scores[i]) return false;
    return true;
  };
  std::vector<std::uint64_t> expected;
  for (const FrontPoint& a : all)
    if (std::none_of(all.begin(), all.end(), [&](const FrontPoint& b) {
          return no_worse(b, a) && (!no_worse(a, b) || b.candidate.index < a.candidate.index);
        }))
      expected.push_back(a.candidate.index);
  CHECK(expected.size() > 3);
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::shuffle(all.begin(), all.end(), std::mt19937(seed));
    ParetoFront a(4), b(4);
    for (std::size_t i = 0; i < all.size(); ++i) (i % 2 ? a : b).add(all[i]);
    b.merge(a);
    std::vector<std::uint64_t> got;
    for (const FrontPoint& p : b.sorted()) got.push_back(p.candidate.index);
    std::sort(got.begin(), got.end());
    CHECK(got == expected);
  }
}
