// SPDX-License-Identifier: Apache-2.0
#include "workload/image_tokens.hpp"

#include <doctest/doctest.h>

#include "io/load.hpp"

using namespace shardfit;

namespace {

/// Visual tokens of one image; expected values were computed from the published processors' rules.
struct Expected {
  int width, height, qwen3, recipe, qwen25, glm, kimi, gemma;
};
constexpr Expected kTable[] = {{256, 256, 64, 196, 81, 81, 100, 256},         {448, 448, 196, 196, 256, 256, 256, 256},
                               {512, 384, 192, 221, 252, 252, 266, 256},      {640, 480, 300, 300, 391, 391, 414, 256},
                               {1024, 768, 768, 768, 999, 999, 1036, 256},    {864, 1296, 1080, 950, 1426, 1426, 1457, 256},
                               {1280, 720, 880, 880, 1196, 1196, 1196, 256},  {1920, 1080, 2040, 943, 2691, 2691, 2691, 256},
                               {1654, 2339, 3796, 962, 4956, 4956, 4158, 256}};

/// Pixel limits that Megatron-Bridge's collator sets for every Qwen-VL model.
constexpr std::int64_t kRecipeMin = 200'704, kRecipeMax = 1'003'520;

int tokens(const char* model, const Expected& e, std::int64_t low = 0, std::int64_t high = 0) {
  return workload::image_tokens(*io::load_model(model).vision, e.width, e.height, low, high).tokens;
}

}  // namespace

TEST_CASE("every model's rule gives the published number of visual tokens") {
  for (const Expected& e : kTable) {
    CAPTURE(e.width);
    CAPTURE(e.height);
    CHECK(tokens("Qwen3-VL-235B-A22B", e) == e.qwen3);
    CHECK(tokens("Qwen3-VL-235B-A22B", e, kRecipeMin, kRecipeMax) == e.recipe);
    CHECK(tokens("Qwen2.5-VL-7B", e) == e.qwen25);
    CHECK(tokens("GLM-4.5V", e) == e.glm);
    CHECK(tokens("Kimi-K2.5", e) == e.kimi);
    CHECK(tokens("Gemma-3-27B", e) == e.gemma);
  }
}

TEST_CASE("patches are what the tower runs on: four a token, sixteen for Gemma") {
  const Expected coco = kTable[3];
  CHECK(workload::image_tokens(*io::load_model("Qwen3-VL-8B").vision, coco.width, coco.height).patches == 1200);
  CHECK(workload::image_tokens(*io::load_model("Gemma-3-27B").vision, coco.width, coco.height).patches == 4096);
}

TEST_CASE("limits of the processors: the largest, the smallest, the narrowest image") {
  // Expected values from the published rules, computed apart from this code.
  struct Limits {
    int width, height, qwen3, qwen25, glm, kimi;
  };
  for (const Limits& l : {Limits{8000, 6000, 16170, 16170, 6030, 4144}, Limits{12000, 300, 3375, 4719, 4719, 1792},
                          Limits{20, 20, 64, 4, 9, 1}}) {
    CAPTURE(l.width);
    const Expected image{l.width, l.height, 0, 0, 0, 0, 0, 0};
    CHECK(tokens("Qwen3-VL-235B-A22B", image) == l.qwen3);
    CHECK(tokens("Qwen3.6-35B-A3B", image) == l.qwen3);
    CHECK(tokens("Qwen2.5-VL-7B", image) == l.qwen25);
    CHECK(tokens("GLM-4.5V", image) == l.glm);
    CHECK(tokens("Kimi-K2.5", image) == l.kimi);
    CHECK(tokens("Gemma-3-27B", image) == 256);
  }
}

TEST_CASE("GLM-4.5V limits the pixels of a clip as a whole") {
  const VisionSpec glm = *io::load_model("GLM-4.5V").vision;
  struct Clip {
    int width, height, frames, tokens;
  };
  for (const Clip& c :
       {Clip{640, 360, 16, 2392}, Clip{1920, 1080, 16, 21528}, Clip{1920, 1080, 300, 27000}, Clip{640, 360, 15, 2392}}) {
    CAPTURE(c.frames);
    CHECK(workload::visual_tokens(glm, {c.width, c.height, c.frames}).tokens == c.tokens);
  }
}
