// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "layout/rules/conditions.hpp"
#include "shardfit/layout/rules.hpp"

using namespace shardfit;

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The codes between backticks of the part of a text before `end`.
std::set<std::string> codes_before(const std::string& text, const std::string& end) {
  std::set<std::string> codes;
  const std::size_t stop = text.find(end);
  for (std::size_t at = text.find("## Conditions"); (at = text.find('`', at)) < stop; ++at) {
    const std::size_t close = text.find('`', at + 1);
    codes.insert(text.substr(at + 1, close - at - 1));
    at = close;
  }
  return codes;
}

}  // namespace

TEST_CASE("docs/rules.md is what the rules say") {
  // After a change: shardfit list rules --format markdown -o docs/rules.md
  CHECK(file_text(SHARDFIT_SOURCE_DIR "/docs/rules.md") == rules_markdown());
}

TEST_CASE("a condition is held by rules exactly where it says that it is checked") {
  for (const layout::Condition& c : layout::conditions()) {
    CAPTURE(c.name);
    CHECK(c.codes.empty() == (c.standing != layout::Standing::checked));
    CHECK((!c.codes.empty() || !c.note.empty()));
  }
}

TEST_CASE("the conditions name every rule and alteration, and no others") {
  std::set<std::string> known;
  for (const RuleInfo& rule : rules()) known.insert(std::string(rule.code));
  for (const Alteration& alteration : all_alterations()) known.insert(std::string(alteration.code));
  CHECK(codes_before(rules_markdown(), "\n## Rules") == known);
}
