// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace shardfit;
using namespace shardfit::cli;

namespace {
const SweepProgress kHalf{500'000, 1'000'000, 9000, 4321, 2345.6};
}

TEST_CASE("progress says rate, done, time left and the best so far") {
  CHECK(progress_text(kHalf, 5) == "50.0 %  500,000 of 1,000,000  100,000/s  ETA 5 s  4,321 fit  best 2,345.6 tokens/s/GPU");
  CHECK(progress_text({0, 10, 0, 0, 0}, 0) == "0.0 %  0 of 10  0 fit");
  // Where the number of allowed layouts is known, they are what is counted; what was known before the run is no rate.
  SweepProgress counted = kHalf;
  counted.expected_valid = 36'000;
  counted.resumed_valid = 4000;
  CHECK(progress_text(counted, 5) ==
        "25.0 %  9,000 of 36,000 layouts  1,000/s  ETA 27 s  4,321 fit  best 2,345.6 tokens/s/GPU");
  CHECK(space_text(2304, 1080) == "2,304 combinations, 1,080 layouts that the rules allow");
}

TEST_CASE("a pipe gets plain lines, every few seconds at most") {
  std::ostringstream err;
  Progress progress(err, false);
  progress.show(kHalf, 0.5);
  CHECK(err.str().empty());
  progress.show(kHalf, 5.0);
  progress.show(kHalf, 5.5);
  progress.finish();
  CHECK(err.str() == "shardfit: " + progress_text(kHalf, 5.0) + "\n");
}

TEST_CASE("a terminal gets one line that is overwritten and cleared") {
  std::ostringstream err;
  Progress progress(err, true);
  progress.show(kHalf, 0.2);
  progress.show(kHalf, 0.25);
  progress.finish();
  CHECK(err.str() == "\r\033[K" + progress_text(kHalf, 0.2) + "\r\033[K");
}
