// SPDX-License-Identifier: Apache-2.0
// Does the counted FLOP a token meet what published tables divide by? Published: TFLOP/s per GPU over tokens/s
// per GPU of one row (NVIDIA's Megatron-Bridge performance tables, releases 25.09 to 26.08), training, GFLOP a
// token.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "compute/model_flops.hpp"
#include "io/load.hpp"

using namespace shardfit;

namespace {

struct Published {
  const char* model;
  int sequence;
  std::optional<int> mtp_layers;
  double gflop;
};

Job job_of(const std::string& model, int sequence, std::optional<int> mtp_layers) {
  Job job;
  job.model = io::load_model(model);
  job.training.sequence_length = sequence;
  job.training.mtp_layers = mtp_layers;
  return job;
}

double gflop(const Job& job, int tp = 1, double span = 0) { return compute::model_flops_per_token(job, tp, span) / 1e9; }

}  // namespace

TEST_CASE("published GFLOP a token, within 0.2 %") {
  const Published table[] = {
      {"Llama-3-8B", 8192, {}, 51.47},
      {"Llama-3-70B", 8192, {}, 449.2},
      {"Llama-3.1-405B", 8192, {}, 2524},
      {"DeepSeek-V3", 4096, 1, 260.0},
      {"DeepSeek-V3", 4096, 0, 249.7},
      {"Qwen3-30B-A3B", 4096, {}, 23.01},
      {"Qwen3-235B-A22B", 4096, {}, 148.0},
      {"Kimi-K2", 4096, {}, 204.5},
      {"gpt-oss-120b", 4096, {}, 32.6},
      {"Nemotron-3-Nano-30B-A3B", 8192, {}, 22.28},
      {"Nemotron-3-Super-120B-A12B", 8192, 2, 84.72},
  };
  constexpr double kTolerance = 0.002;
  for (const Published& row : table) {
    CAPTURE(row.model);
    const double counted = gflop(job_of(row.model, row.sequence, row.mtp_layers));
    CHECK(counted == doctest::Approx(row.gflop).epsilon(kTolerance));
  }
}

TEST_CASE("compressed attention and gated delta nets: near their published rows") {
  CHECK(gflop(job_of("DeepSeek-V4-Flash", 4096, {})) == doctest::Approx(90.8).epsilon(0.01));
  // Rows of Qwen3.6-35B-A3B say 23.02 but count their images too; the decoder alone must stay a little below.
  const double text = gflop(job_of("Qwen3.6-35B-A3B", 4096, 1));
  CHECK(text < 23.02);
  CHECK(text > 0.97 * 23.02);
}

TEST_CASE("the padded vocabulary counts") {
  const Job job = job_of("Llama-3-8B", 8192, {});
  // 128256 is 1002 x 128; at tp 4 it is padded to a multiple of 512: 128512
  CHECK(gflop(job, 4) - gflop(job, 1) == doctest::Approx(6 * 4096 * 256 / 1e9));
  CHECK(gflop(job, 2) == gflop(job, 1));
}

TEST_CASE("packed rows count the attention of their parts") {
  const Job job = job_of("Llama-3-8B", 8192, {});
  // 32 layers x 32 heads x 128 x (8192 - 2048) / 2 x 2 products x 6
  CHECK(gflop(job, 1, 8192) - gflop(job, 1, 2048) == doctest::Approx(32 * 4096.0 * 6144 * 6 / 1e9));
}

TEST_CASE("vision tower: 3 x (blocks + mergers), worked by hand") {
  const ModelSpec model = io::load_model("Qwen3-VL-235B-A22B");
  REQUIRE(model.vision.has_value());
  const double patches = 3136, tokens = 784;  // one image of 56 x 56 patches
  const double blocks = 27 * ((8.0 * 1152 * 1152 + 4.0 * 1152 * 4304) * patches + 4.0 * 1152 * patches * patches);
  const double mergers = 4 * tokens * (2.0 * 4608 * 4608 + 2.0 * 4608 * 4096);
  CHECK(compute::vision_model_flops(*model.vision, {patches, patches * patches, tokens}) ==
        doctest::Approx(3 * (blocks + mergers)));
}
