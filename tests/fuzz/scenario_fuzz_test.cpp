// SPDX-License-Identifier: Apache-2.0
// Scenario files with random damage either read or throw InputError; nothing else, ever.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;

namespace {

constexpr int kTextRounds = 1500;   ///< damage to bytes
constexpr int kTokenRounds = 1500;  ///< damage to values, which reaches behind the parser

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> seeds() {
  setenv("SHARDFIT_DATA_DIR", SHARDFIT_SOURCE_DIR, 1);
  std::vector<std::string> texts;
  for (const std::string& name : io::list_scenarios())
    texts.push_back(slurp(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + name + ".json"));
  const std::string model = slurp(std::string(SHARDFIT_SOURCE_DIR) + "/models/Qwen3-VL-30B-A3B.json");
  texts.push_back(R"({"model": )" + model +
                  R"(, "hardware": "h100-hgx", "gpus": 8, "training": {"task": "sft",
    "sequence_length": 2048, "global_batch_size": 8, "packing": {"kind": "offline", "efficiency_pct": 98.5},
    "frozen": ["vision_model"], "vision": {"data": "mock"}}, "layout": {"tp": 2, "ep": 4, "recompute": {"granularity": "full",
    "method": "block", "num_layers": 2}, "cuda_graph": {"impl": "transformer_engine", "scopes": ["attn"]},
    "offload": {"optimizer_fraction": 0.5}, "overlap": {"tp_comm": true}}, "stack": {"profile": "ms-swift",
    "gradient_sync": "last_microbatch"}, "assumed": {"pp": 2}})");
  return texts;
}

enum class Outcome { read, refused };

/// Any other exception, or a crash, fails the test.
Outcome outcome_of(const std::string& text) {
  try {
    io::parse_scenario(text, "fuzz.json");
    return Outcome::read;
  } catch (const InputError&) {
    return Outcome::refused;
  }
}

std::string damage_bytes(std::string text, std::mt19937& random) {
  const int edits = 1 + int(random() % 4);
  for (int i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 5) {
      case 0: text[at] = char(random() % 256); break;
      case 1: text.erase(at, 1 + random() % 20); break;
      case 2: text.insert(at, text.substr(random() % text.size(), 1 + random() % 30)); break;
      case 3: text.resize(at); break;
      default: text.insert(at, 1, "{}[],:\"0-e.\\"[random() % 12]);
    }
  }
  return text;
}

/// Replaces one number, word or list by something of another kind or size.
std::string damage_token(std::string text, std::mt19937& random) {
  static const std::vector<std::string> values{"0",
                                               "-1",
                                               "1",
                                               "3",
                                               "7",
                                               "1e308",
                                               "-1e308",
                                               "1e400",
                                               "2147483648",
                                               "99999999999999999999",
                                               "0.5",
                                               "null",
                                               "true",
                                               "\"\"",
                                               "\"all\"",
                                               "\"none\"",
                                               "\"full\"",
                                               "[]",
                                               "{}",
                                               "[1, 2, 3]",
                                               "[\"all\", \"all\"]",
                                               "{\"from\": 1, \"to\": 1000000000, \"step\": 1}",
                                               "{\"from\": 4, \"to\": 1}",
                                               "\"moe+moe_act\"",
                                               "\"gb200-nvl72\"",
                                               "\"/\"",
                                               "\"/dev/null\"",
                                               "[[[[]]]]",
                                               "\"\\u0000\"",
                                               "1000000"};
  const std::size_t colon = text.find(": ", random() % text.size());
  if (colon == std::string::npos) return text;
  std::size_t end = colon + 2;
  if (end < text.size() && text[end] == '"')
    end = text.find('"', end + 1) + 1;
  else
    end = text.find_first_of(",}\n", end);
  if (end == std::string::npos || end == 0) return text;
  return text.replace(colon + 2, end - colon - 2, values[random() % values.size()]);
}

}  // namespace

TEST_CASE("damaged bytes") {
  const auto texts = seeds();
  std::mt19937 random(20261130);
  int refused = 0;
  for (int i = 0; i < kTextRounds; ++i)
    refused += outcome_of(damage_bytes(texts[i % texts.size()], random)) == Outcome::refused;
  CHECK(refused > kTextRounds / 2);
}

TEST_CASE("damaged values") {
  const auto texts = seeds();
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int i = 0; i < kTokenRounds; ++i)
    (outcome_of(damage_token(texts[i % texts.size()], random)) == Outcome::read ? read : refused)++;
  CHECK(read > 0);
  CHECK(refused > kTokenRounds / 2);
}
