// SPDX-License-Identifier: Apache-2.0
// What a front end does with a family's tower is one table; a family that it does not have is said, not guessed in silence.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "files.hpp"
#include "io/load.hpp"
#include "shardfit/spec/tower_family.hpp"

using namespace shardfit;

namespace {

/// Assumptions of a run of Qwen2.5-VL-7B whose file names another family.
std::vector<std::string> assumptions(const std::string& family, const std::string& profile, bool text_only = false) {
  std::ifstream in(std::string(SHARDFIT_SOURCE_DIR) + "/models/Qwen2.5-VL-7B.json");
  std::stringstream text;
  text << in.rdbuf();
  std::string model = text.str();
  const std::string own = R"("family": "qwen2_5_vl")";
  const auto at = model.find(own);
  REQUIRE(at != std::string::npos);
  model.replace(at, own.size(), R"("family": ")" + family + "\"");
  return io::parse_scenario(R"({"model": )" + model + R"(, "hardware": "h100-hgx", "gpus": 8, "stack": {"profile": ")" +
                                profile +
                                R"("}, "training": {"sequence_length": 4096, "global_batch_size": 64, "text_only": )" +
                                (text_only ? "true" : "false") + R"(}, "layout": {"tp": 2}})",
                            "s.json")
      .assumptions;
}

bool warns(const std::vector<std::string>& assumptions, const char* of = "(model.family)") {
  return std::any_of(assumptions.begin(), assumptions.end(),
                     [&](const std::string& a) { return a.find(of) != std::string::npos; });
}

}  // namespace

TEST_CASE("a family without an entry is taken as the published module, and that is a warning") {
  CHECK(warns(assumptions("intern_vl", "megatron-bridge-2026-08")));
  CHECK_FALSE(warns(assumptions("qwen2_5_vl", "megatron-bridge-2026-08")));
  CHECK_FALSE(warns(assumptions("intern_vl", "megatron-bridge-2026-08", true)));  // no tower runs
  CHECK_FALSE(warns(assumptions("intern_vl", "torch-fsdp2")));                    // checkpoints every tower alike
  CHECK(tower_family("intern_vl").family.empty());
  CHECK_FALSE(tower_family("intern_vl").megatron_layers);
}

TEST_CASE("host work around a tower that was not counted is told") {
  const char* const of = "(model.vision)";
  CHECK(warns(assumptions("qwen2_5_vl", "megatron-bridge-2026-08"), of));
  CHECK(warns(assumptions("qwen3_vl", "ms-swift"), of));
  CHECK_FALSE(warns(assumptions("qwen3_vl", "megatron-bridge-2026-08"), of));
  CHECK_FALSE(warns(assumptions("qwen2_5_vl", "megatron-bridge-2026-08", true), of));
}

TEST_CASE("every vision-language model that ships is of a listed family") {
  for (const std::string& name : io::list_models()) {
    const ModelSpec model = io::load_model(name);
    CAPTURE(name);
    if (model.vision) CHECK(tower_family(model).family == model.family);
  }
}
