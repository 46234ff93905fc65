// SPDX-License-Identifier: Apache-2.0
#include "calibrate/robust_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace shardfit::calibrate;

namespace {

/// y = a exp(b x) at ten points; `spoilt` of them ten times too high.
Objective curve(double a, double b, int spoilt) {
  Objective o;
  o.weights.assign(10, 1);
  o.depends = [](std::size_t, std::size_t) { return true; };
  o.residual = [=](std::size_t row, std::span<const double> v) {
    const double x = double(row) / 10, measured = a * std::exp(b * x) * (int(row) < spoilt ? 10 : 1);
    return std::log(v[0] * std::exp(v[1] * x) / measured);
  };
  return o;
}

const std::vector<Variable> kFree = {{"a", 1, 1, 0.1, 10, 0}, {"b", 0, 1, -5, 5, 0}};

}  // namespace

TEST_CASE("a fit without noise or pull finds what the points were made of") {
  const FittedVariables f = fit(kFree, curve(3, -2, 0));
  CHECK(f.values[0] == doctest::Approx(3).epsilon(1e-3));
  CHECK(f.values[1] == doctest::Approx(-2).epsilon(1e-3));
}

TEST_CASE("one wild point of ten hardly moves a robust fit, and moves a plain one far") {
  const FittedVariables robust = fit(kFree, curve(3, -2, 1)), plain = fit(kFree, curve(3, -2, 1), {.cauchy_scale = 0});
  CHECK(robust.values[0] == doctest::Approx(3).epsilon(0.02));
  CHECK(plain.values[0] > 4);
}

TEST_CASE("a bound holds, and the other variable makes the best of it") {
  std::vector<Variable> bounded = kFree;
  bounded[0].high = 2;
  const FittedVariables f = fit(bounded, curve(3, -2, 0));
  CHECK(f.values[0] == doctest::Approx(2));
  CHECK(f.values[1] > -2);
}

TEST_CASE("without rows every variable comes to rest at what is expected of it") {
  const FittedVariables f = fit({{"a", 2, 0.5, 0, 4}}, Objective{});
  CHECK(f.values[0] == doctest::Approx(0.5));
}

TEST_CASE("pull and rows weigh against each other as stated") {
  // One row says x = 2; the pull says 1 with the weight of one row: they meet half way.
  Objective o;
  o.weights = {1};
  o.depends = [](std::size_t, std::size_t) { return true; };
  o.residual = [](std::size_t, std::span<const double> v) { return v[0] - 2; };
  const FittedVariables f = fit({{"x", 1, 1, 0, 4, 1}}, o, {.cauchy_scale = 0});
  CHECK(f.values[0] == doctest::Approx(1.5));
}
