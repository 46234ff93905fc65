// SPDX-License-Identifier: Apache-2.0
#include "io/partial_file.hpp"

#include <doctest/doctest.h>

#include <string>

#include "shardfit/base/error.hpp"

using namespace shardfit;

namespace {

const io::PartialKey kKey{"shardfit 1 (cost model 1)", "0123456789abcdef", "fedcba9876543210"};

Candidate candidate(std::uint64_t index) {
  // Figures that no short decimal hits.
  return {index,
          {1.0 / 3 + double(index), 8192 / 3.0, Bytes(123'456'789'012), true, 3, MemoryMoment::backward, TimeTerm::experts}};
}

PartialSweep part() {
  PartialSweep p;
  p.shard = {2, 5};
  p.done = 7;
  p.units = 9;
  p.evaluated = 4'000'000'000'000;
  p.valid = 12;
  p.fit = 3;
  p.best = {{-0.1, candidate(5)}, {2.0 / 7, candidate(6)}};
  p.front = {{{0.1, 0.2, 0.3, 0}, candidate(9)}};
  p.with_more_memory[1] = Ranked{1e-17, candidate(11)};
  p.rejected = {
      {kRefusedByMemory, 3, 1, {kRefusedByMemory}}, {kRefusedAsAlias, 1, 2, {kRefusedAsAlias}}, {0, 8, 4, {0, -3, 64}}};
  return p;
}

std::string error_of(const std::string& text, const io::PartialKey& key = kKey) {
  try {
    io::parse_partial(text, "p.json", key);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a partial sweep reads back to the last bit") {
  const std::string text = io::partial_text(kKey, part());
  const PartialSweep back = io::parse_partial(text, "p.json", kKey);
  CHECK(io::partial_text(kKey, back) == text);
  CHECK(back.shard == Shard{2, 5});
  CHECK(back.evaluated == 4'000'000'000'000);
  CHECK(back.best[0].score == -0.1);
  CHECK(back.best[1].candidate.quick.step_time_s == candidate(6).quick.step_time_s);
  CHECK(back.best[1].candidate.quick.bottleneck == TimeTerm::experts);
  CHECK(back.front[0].scores[2] == 0.3);
  CHECK_FALSE(back.with_more_memory[0].has_value());
  CHECK(back.with_more_memory[1]->score == 1e-17);
  CHECK(back.rejected[2].violation.got == -3);
}

TEST_CASE("parts of another version, scenario or data are refused, each with its reason") {
  const std::string text = io::partial_text(kKey, part());
  io::PartialKey other = kKey;
  other.version = "shardfit 2 (cost model 1)";
  CHECK(error_of(text, other).find("another version") != std::string::npos);
  other = kKey;
  other.scenario = "0";
  CHECK(error_of(text, other).find("other flags") != std::string::npos);
  other = kKey;
  other.data = "0";
  CHECK(error_of(text, other).find("models, hardware") != std::string::npos);
}

TEST_CASE("what is no partial sweep, or a damaged one, is an error with its place") {
  const std::string text = io::partial_text(kKey, part());
  CHECK(error_of("{}").find("a file of another kind") != std::string::npos);
  CHECK(error_of("no json").find("p.json") != std::string::npos);
  CHECK(error_of(text.substr(0, text.size() / 2)).find("p.json") != std::string::npos);
  CHECK(error_of(replaced(text, "\"done\":7", "\"done\":10")).find("/done") != std::string::npos);
  CHECK(error_of(replaced(text, "\"index\":2", "\"index\":5")).find("/shard/index") != std::string::npos);
  CHECK(error_of(replaced(text, "\"experts\"", "\"expert\"")).find("/best/0/1/7") != std::string::npos);
  CHECK(error_of(replaced(text, "\"alias\"", "\"ali\"")).find("/rejected/1/0") != std::string::npos);
}
