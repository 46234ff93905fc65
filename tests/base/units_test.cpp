// SPDX-License-Identifier: Apache-2.0
#include "shardfit/base/units.hpp"

#include <doctest/doctest.h>

#include "shardfit/base/enum_set.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;

TEST_CASE("bytes over a rate are seconds; like over like is a number") {
  CHECK((Bytes(8'000'000'000) / gb_per_s(4)).value == doctest::Approx(2.0));
  CHECK((Flops(5e12) / teraflops(2.5)).value == doctest::Approx(2.0));
  CHECK(gib(3) / gib(2) == doctest::Approx(1.5));
  CHECK(in_mib(gib(1)) == 1024);
  CHECK(in_us(milliseconds(2)) == doctest::Approx(2000));
  CHECK(gib(1) + mib(1) > gib(1));
}

enum class Fruit { apple, pear, plum, count };

TEST_CASE("an enum set holds what was put in") {
  EnumSet<Fruit> set{Fruit::apple, Fruit::plum};
  CHECK(set.contains(Fruit::plum));
  CHECK_FALSE(set.contains(Fruit::pear));
  CHECK(set.size() == 2);
  set.erase(Fruit::plum);
  CHECK((set | EnumSet<Fruit>{Fruit::pear}).contains_all({Fruit::apple, Fruit::pear}));
  CHECK_FALSE(set.intersects({Fruit::plum}));
}

TEST_CASE("an input error reads: file, place, got, expected, hint") {
  const InputError e("s.json", "/layout/tp", "3", "a divisor of 64", "try 2 or 4");
  CHECK(std::string(e.what()) == "s.json: /layout/tp: got 3, expected a divisor of 64; try 2 or 4");
  CHECK(std::string(InputError("", "--tp", "x", "a number").what()) == "--tp: got x, expected a number");
}
