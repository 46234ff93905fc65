// SPDX-License-Identifier: Apache-2.0
// What is stated beside measured runs, and the files it comes in.
#include "measured_rows.hpp"

using namespace shardfit;
using namespace shardfit::io_test;

TEST_CASE("a file of another kind is refused once, with the flag that takes it") {
  const auto refusal = [](auto load, const char* name) {
    return io_test::message_of([&] { load(kMeasured + name); }).substr(kMeasured.size());
  };
  CHECK(refusal(io::load_measured, "effects.json") ==
        "effects.json: got a file of effects, expected a list of runs; pass it with --effects beside its runs");
  CHECK(refusal(io::load_measured, "facts.json") ==
        "facts.json: got a file of stated facts, expected a list of runs; pass it with --facts beside the runs");
  CHECK(refusal(io::load_effects, "memory.json") ==
        "memory.json: got a file of measured runs, expected a list of effects; pass it as the file to validate");
  CHECK(refusal(io::load_facts, "effects.json") ==
        "effects.json: got a file of effects, expected a list of facts; pass it with --effects beside its runs");
}

TEST_CASE("an id computes nothing: that a run resumed is a fact stated beside the rows") {
  auto runs = io::load_measured(kMeasured + "memory.json");
  const std::string muon = "megatron-lm/moe/gpt3_moe_mcore_te_ep8_resume_torch_dist_dist_muon";
  CHECK_FALSE(find(runs, muon + "/dev_dgx_h100_2nd").resumed);
  CHECK(validation::state_facts(io::load_facts(kMeasured + "facts.json"), runs) == std::vector<int>{38});
  CHECK(find(runs, muon + "/dev_dgx_h100_2nd").resumed);
  CHECK_FALSE(find(runs, muon + "/dev_dgx_h100").resumed);
}

TEST_CASE("a fact states something and says how it is known") {
  const auto refusal = [](const char* text) {
    const std::string path = "measured_test_facts.json";
    std::ofstream(path) << text;
    std::string pointer;
    try {
      io::load_facts(path);
    } catch (const InputError& error) {
      pointer = error.pointer();
    }
    std::remove(path.c_str());
    return pointer;
  };
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": "s"}])") == "");
  CHECK(refusal(R"([{"runs": "a", "resumed": false, "source": "s"}])") == "/0/resumed");
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": ""}])") == "/0/source");
  CHECK(refusal(R"([{"runs": "a", "source": "s"}])") == "/0/resumed");
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": "s", "resume": true}])") == "/0/resume");
}

TEST_CASE("effects read, each with both of its runs carried") {
  const auto effects = io::load_effects(kMeasured + "effects.json");
  CHECK(effects.size() >= 100);
  for (const auto& e : effects) {
    CAPTURE(e.id);
    CHECK((e.measured.has_value() || !e.outcome.empty()));
  }
}
