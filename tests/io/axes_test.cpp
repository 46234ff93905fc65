// SPDX-License-Identifier: Apache-2.0
#include "io/axes.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "io/load.hpp"

using namespace shardfit;

namespace {

bool has(const std::vector<PipelineSplit>& splits, int first, int last) {
  return std::any_of(splits.begin(), splits.end(), [&](const PipelineSplit& s) {
    return s.kind == SplitKind::first_last && s.first_stage_layers == first && s.last_stage_layers == last;
  });
}

}  // namespace

TEST_CASE("splits make room for a tower, down to the layers that DeepStack adds to") {
  Job job = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-gb200.json").job;
  const std::vector<PipelineSplit> splits = io::all_splits(job, {8});
  // 94 layers on 8 stages: middle stages of 12, 13 and 14.
  CHECK(has(splits, 10, 12));
  CHECK(has(splits, 5, 11));
  CHECK(has(splits, 4, 12));
  CHECK(has(splits, 3, 7));
  for (const PipelineSplit& s : splits)
    if (s.kind == SplitKind::first_last) CHECK(s.first_stage_layers >= 3);
  job.training.text_only = true;
  CHECK_FALSE(has(io::all_splits(job, {8}), 5, 11));
}
