// SPDX-License-Identifier: Apache-2.0
// What the strict reader says, word for word.
#include "io/reader.hpp"

#include <doctest/doctest.h>

#include "files.hpp"
#include "shardfit/spec/layout.hpp"

using namespace shardfit;
using namespace shardfit::io;
using io_test::message_of;

namespace {

Json json(const char* text) { return parse_json(text, "s.json"); }
Value root(const Json& j) { return Value(j, {"s.json", ""}); }

}  // namespace

TEST_CASE("syntax errors name line and column") {
  CHECK(message_of([] { json("{\"tp\": 2,\n \"cp\" 1}"); }) ==
        "s.json: line 2, column 7: got unexpected number literal, expected ':'");
  CHECK(message_of([] { json("[1, 2"); }) == "s.json: line 1, column 6: got unexpected end of input, expected ']'");
  CHECK(message_of([] { json(""); }).find("s.json: line 1, column 1: got ") == 0);
}

TEST_CASE("a key given twice is refused") {
  CHECK(message_of([] { json(R"({"a": {"tp": 1, "tp": 2}})"); }) ==
        "s.json: /a/tp: got key \"tp\" a second time, expected each key once");
  CHECK(message_of([] { json(R"([{"tp": 1}, {"tp": 2}])"); }) == "no error");
}

TEST_CASE("deep nesting is refused, not walked") {
  const std::string deep(200000, '[');
  CHECK(message_of([&] { parse_json(deep, "s.json"); }).find("nested more than 64 deep") != std::string::npos);
}

TEST_CASE("an unknown key comes with the nearest known one") {
  const Json j = json(R"({"micro_batch_sise": 2})");
  CHECK(message_of([&] {
          Object o(root(j));
          o.get("tp", 1, 1);
          o.get("micro_batch_size", 1, 1);
          o.done();
        }) ==
        "s.json: /micro_batch_sise: got unknown key \"micro_batch_sise\", expected one of micro_batch_size, "
        "tp; "
        "did you mean \"micro_batch_size\"?");
}

TEST_CASE("wrong types and impossible values") {
  const Json j = json(R"({"tp": 0, "cp": 2.5, "pp": "four", "ep": 1e30, "frac": 1.5, "on": 1, "name": 3, "list": {}})");
  Object o(root(j));
  CHECK(message_of([&] { o.get("tp", 1, 1); }) == "s.json: /tp: got 0, expected a whole number of at least 1");
  CHECK(message_of([&] { o.get("cp", 1, 1); }) == "s.json: /cp: got 2.5, expected a whole number of at least 1");
  CHECK(message_of([&] { o.get("pp", 1, 1, 64); }) == "s.json: /pp: got \"four\", expected a whole number from 1 to 64");
  CHECK(message_of([&] { o.get("ep", 1, 1); }) == "s.json: /ep: got 1e+30, expected a whole number of at least 1");
  CHECK(message_of([&] { o.get("frac", 0.0, 0.0, 1.0); }) == "s.json: /frac: got 1.5, expected a number from 0 to 1");
  CHECK(message_of([&] { o.get("on", false); }) == "s.json: /on: got 1, expected true or false");
  CHECK(message_of([&] { o.get("name", "x"); }) == "s.json: /name: got 3, expected a text");
  CHECK(message_of([&] { o.at("list").as_list(); }) == "s.json: /list: got an object, expected a list");
  CHECK(message_of([&] { o.at("gone"); }) == "s.json: /gone: got nothing, expected a value for \"gone\"");
}

TEST_CASE("a whole number may be written with a fraction of zero; a huge one may not") {
  const Json j = json(R"({"a": 4.0, "b": 99999999999999999999, "c": -1})");
  Object o(root(j));
  CHECK(o.get("a", 1, 1) == 4);
  CHECK(message_of([&] { o.get("b", 1, 1); }).find("expected a whole number") != std::string::npos);
  CHECK(message_of([&] { o.get("c", 1, 0); }) == "s.json: /c: got -1, expected a whole number of at least 0");
}

TEST_CASE("a word that is none of an enum's") {
  const Json j = json(R"({"sharding": "optimiser"})");
  Object o(root(j));
  CHECK(message_of([&] { o.get("sharding", Sharding::none); }) ==
        "s.json: /sharding: got \"optimiser\", expected one of none, optimizer, optimizer_grads, full, "
        "full_torch, layerwise; "
        "did you mean \"optimizer\"?");
}

TEST_CASE("an overlay wins, and its keys must be used up too") {
  const Json base = json(R"({"tp": 1, "cp": 1})"), over = json(R"({"tp": 8, "typo": 1})");
  Object o(root(base)), a(Value(over, {"s.json", "/assumed"}));
  o.overlay(a);
  CHECK(o.get("tp", 1, 1) == 8);
  CHECK(o.get("cp", 1, 1) == 1);
  CHECK(message_of([&] { o.done(); }) == "no error");
  CHECK(message_of([&] { a.done(); }).find("s.json: /assumed/typo: got unknown key \"typo\"") == 0);
}

TEST_CASE("pointers escape slashes and tildes") {
  const Json j = json(R"({"a/b~c": 1})");
  CHECK(message_of([&] { Object(root(j)).done(); }).find("s.json: /a~1b~0c: ") == 0);
}
