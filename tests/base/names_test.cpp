// SPDX-License-Identifier: Apache-2.0
#include "shardfit/base/names.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace shardfit;

namespace {
const std::vector<std::string_view> kModels = {"Qwen3-32B", "Qwen3-235B-A22B", "Qwen3-VL-235B-A22B", "DeepSeek-V3"};
}

TEST_CASE("a slip of a letter or two finds its name") {
  CHECK(nearest_name("DeepSeek-v3", kModels) == "DeepSeek-V3");
  CHECK(nearest_name("Qwen-32B", kModels) == "Qwen3-32B");
}

TEST_CASE("a name cut short finds the shortest that goes on from it") {
  CHECK(nearest_name("Qwen3-235", kModels) == "Qwen3-235B-A22B");
  CHECK(nearest_name("Qwen3", kModels) == "Qwen3-32B");
}

TEST_CASE("a word that is like none of them gets no suggestion") {
  CHECK_FALSE(nearest_name("llama", kModels).has_value());
  CHECK_FALSE(nearest_name("zz", kModels).has_value());
  CHECK_FALSE(nearest_name("anything", {}).has_value());
}
