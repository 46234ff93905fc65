// SPDX-License-Identifier: Apache-2.0
#include "workload/vision_batch.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using workload::expected_slowest;

TEST_CASE("one rank or no spread waits for nobody") {
  CHECK(expected_slowest(1, 0.8) == 1);
  CHECK(expected_slowest(64, 0) == 1);
}

TEST_CASE("the slowest of many ranks: order statistics of a gamma load") {
  // Expected normal maxima of 8, 64 and 1000 draws are 1.42, 2.34 and 3.24 (tables of order statistics).
  CHECK(expected_slowest(8, 0.01) == doctest::Approx(1.0142).epsilon(0.002));
  CHECK(expected_slowest(64, 0.01) == doctest::Approx(1.0234).epsilon(0.002));
  CHECK(expected_slowest(1000, 0.01) == doctest::Approx(1.0324).epsilon(0.002));
  // A gamma with spread 1 is exponential: the expected largest of 64 is the 64th harmonic number, 4.74.
  CHECK(expected_slowest(64, 1.0) == doctest::Approx(4.74).epsilon(0.1));
}

TEST_CASE("an image's patches: 800 tokens of a 2x2 merger") {
  VisionSpec vision;
  vision.merger.merge_size = 2;
  VisionWorkload load{.images_per_sample = 1, .visual_tokens_per_image = 800, .spread = 0};
  const auto batch = workload::vision_batch(workload::sample_load(vision, load), 4);
  CHECK(batch.images == 4);
  CHECK(batch.tokens == 3200);
  CHECK(batch.patches == 12800);
  CHECK(batch.patches_squared == doctest::Approx(4 * 3200.0 * 3200.0));
  load.mock = true;
  CHECK(workload::vision_batch(workload::sample_load(vision, load), 4).patches == 0);
}

TEST_CASE("the fullest micro-batch: no fuller than its rows, none without spread") {
  const workload::VisionBatch mean{.images = 4, .tokens = 1000, .patches = 4000, .patches_squared = 1e6, .spread = 0.5};
  CHECK(workload::fullest(mean, 1, 1e9).tokens == 1000);
  CHECK(workload::fullest(mean, 1000, 1e9).tokens == doctest::Approx(1000 * expected_slowest(1000, 0.5)));
  CHECK(workload::fullest(mean, 1000, 1500).patches == doctest::Approx(6000));
}

TEST_CASE("ranks share out whole images: the busiest has the rounded-up number, one image stays whole") {
  const workload::VisionBatch four{
      .images = 4, .tokens = 800, .patches = 3200, .patches_squared = 1e6, .steps = 4, .positions = 3200};
  CHECK(workload::on_busiest_of(four, 1).patches == 3200);
  CHECK(workload::on_busiest_of(four, 2).patches == 1600);
  CHECK(workload::on_busiest_of(four, 3).patches == 1600);
  CHECK(workload::on_busiest_of(four, 8).patches == 800);
  const workload::VisionBatch one{
      .images = 1, .tokens = 800, .patches = 3200, .patches_squared = 1e6, .steps = 1, .positions = 3200};
  CHECK(workload::on_busiest_of(one, 8).patches == 3200);
}
