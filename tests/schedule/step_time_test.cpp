// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "schedule/step_time.hpp"

using namespace shardfit::schedule;

TEST_CASE("one stage: its micro-batches, nothing else") {
  const std::vector<double> forward{1.0}, backward{2.0};
  const StepTime t = step_time({1, 1, 7, 1, false}, forward, backward, 0.5);
  CHECK(t.busy == 21);
  CHECK(t.bubble == 0);
  CHECK(t.p2p == 0);
}

TEST_CASE("one micro-batch runs through all stages in turn") {
  const std::vector<double> forward{1, 2, 3}, backward{2, 5, 4};
  const StepTime t = step_time({3, 1, 1, 3, false}, forward, backward, 0.25);
  CHECK(t.total() == doctest::Approx(17 + 4 * 0.25));
  CHECK(t.busy == 7);
  CHECK(t.bubble == doctest::Approx(10));
  CHECK(t.p2p == doctest::Approx(1));
}

TEST_CASE("interleaving divides the bubble by vpp") {
  const std::vector<double> forward(4, 1.0), backward(4, 2.0);
  CHECK(step_time({4, 1, 16, 4, false}, forward, backward, 0).bubble == doctest::Approx(9));
  CHECK(step_time({4, 3, 16, 4, false}, forward, backward, 0).bubble == doctest::Approx(3));
}

TEST_CASE("without interleaving every micro-batch pays two transfers") {
  const std::vector<double> forward(4, 1.0), backward(4, 2.0);
  const StepTime t = step_time({4, 1, 16, 4, false}, forward, backward, 0.01);
  CHECK(t.p2p == doctest::Approx(16 * 0.02 + 0.04).epsilon(0.01));
  CHECK(step_time({4, 2, 16, 4, false}, forward, backward, 0.01).p2p < t.p2p);
}

TEST_CASE("a slow stage sets the pace") {
  for (int slow = 0; slow < 4; ++slow) {
    std::vector<double> forward(4, 1.0), backward(4, 2.0);
    forward[std::size_t(slow)] = 2;
    backward[std::size_t(slow)] = 4;
    const StepTime t = step_time({4, 1, 32, 4, false}, forward, backward, 0);
    CHECK(t.busy == 32 * 6);
    CHECK(t.bubble <= 9);  // the others' passes before and after
  }
}

TEST_CASE("pairs of combined 1F1B: all but warm-up") {
  CHECK(combined_1f1b_pairs({4, 2, 16, 4, false}, 0) == 0);
  CHECK(combined_1f1b_pairs({4, 2, 16, 4, true}, 0) == doctest::Approx((32.0 - 11) / 32));
  CHECK(combined_1f1b_pairs({4, 2, 16, 4, true}, 3) == doctest::Approx((32.0 - 5) / 32));
  CHECK(combined_1f1b_pairs({1, 1, 8, 1, true}, 0) == doctest::Approx(7.0 / 8));
  CHECK(combined_1f1b_pairs({1, 1, 1, 1, true}, 0) == 0);
  CHECK(combined_1f1b_pairs({4, 2, 4, 4, true}, 0) == 0);  // everything is warm-up
}
