// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "estimate/data_parallel_time.hpp"

using namespace shardfit;
using namespace shardfit::estimate;

namespace {

Layout layout(int pp, int vpp, bool overlaps) {
  Layout l;
  l.pp = pp;
  l.vpp = vpp;
  l.sharding = Sharding::optimizer;
  l.overlap.grad_reduce = l.overlap.param_gather = overlaps;
  return l;
}

/// Stages of 1 s forward and 2 s backward, each with the same traffic; the first apart from the others.
StepAddition equal_stages(const Layout& l, const StepConstants& of, bool aligned = false, int microbatches = 8) {
  DataParallelTime time(l, microbatches, aligned, l.pp, 2.0 * l.pp);
  time.add({0, 1, 1, 2, 0, 0}, of, true);
  if (l.pp > 1) time.add({1, l.pp - 1, 1, 2, 1, 2}, of, false);
  return time.sum();
}

}  // namespace

TEST_CASE("no pipeline: reductions hide behind the last backward, gathers behind the first forward") {
  CHECK(equal_stages(layout(1, 1, true), {1.5, 0.5, 0, 0}).exposed == doctest::Approx(0));
  CHECK(equal_stages(layout(1, 1, true), {1.5, 0.5, 0, 0}).hidden == doctest::Approx(2));
  CHECK(equal_stages(layout(1, 1, true), {3, 2, 0.25, 0}).exposed == doctest::Approx(1 + 1 + 0.25));
  CHECK(equal_stages(layout(1, 1, false), {1.5, 0.5, 0, 0}).exposed == doctest::Approx(2));
  CHECK(equal_stages(layout(1, 1, false), {1.5, 0.5, 0, 0}).hidden == 0);
}

TEST_CASE("without interleaving each stage gathers when its first forward comes: delays add up") {
  // Three stages of 0.5 s; the first hides its own.
  CHECK(equal_stages(layout(4, 1, true), {0, 0.5, 0, 0}).exposed == doctest::Approx(3 * 0.5));
  CHECK(equal_stages(layout(4, 1, true), {0, 0.5, 0, 0}, true).exposed == doctest::Approx(3 * 0.5));  // nothing to align
  CHECK(equal_stages(layout(4, 1, false), {0, 0.5, 0, 0}).exposed == doctest::Approx(0.5));  // all at once, after the optimizer
}

TEST_CASE("aligned gathers of an interleaved pipeline delay it by the latest one") {
  // A chunk's 0.75 s are needed after the first stage's 0.5 s.
  CHECK(equal_stages(layout(4, 2, true), {0, 1.5, 0, 0}, true).exposed == doctest::Approx(0.25));
  CHECK(equal_stages(layout(4, 2, true), {0, 0.9, 0, 0}, true).exposed == doctest::Approx(0));
}

TEST_CASE("stages but the first reduce while the pipeline drains") {
  CHECK(equal_stages(layout(4, 1, true), {2, 0, 0, 0}).exposed == doctest::Approx(0));
  CHECK(equal_stages(layout(4, 1, true), {2.5, 0, 0, 0}).exposed == doctest::Approx(0.5));
  // Without overlap the first stage has nothing to hide behind.
  CHECK(equal_stages(layout(4, 1, false), {2.5, 0, 0, 0}).exposed == doctest::Approx(2.5));
}

TEST_CASE("the stage with the most to do decides what follows") {
  const Layout l = layout(2, 1, false);
  DataParallelTime time(l, 8, false, 2, 4);
  time.add({0, 1, 1, 2, 0, 0}, {0, 0.1, 0, 0.2}, true);
  time.add({1, 1, 1, 2, 1, 2}, {0, 0.3, 0, 0.7}, false);
  CHECK(time.sum().optimizer == doctest::Approx(0.7));
  CHECK(time.sum().exposed == doctest::Approx(0.3));
}

TEST_CASE("FSDP hides behind every micro-batch") {
  Layout l = layout(1, 1, true);
  l.sharding = Sharding::full;
  CHECK(equal_stages(l, {10, 12, 0.5, 0}).exposed == doctest::Approx(0.5));
  CHECK(equal_stages(l, {10, 12, 0.5, 0}).hidden == doctest::Approx(22));
  CHECK(equal_stages(l, {20, 12, 0, 0}).exposed == doctest::Approx(8));
}
