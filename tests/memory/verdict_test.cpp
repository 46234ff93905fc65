// SPDX-License-Identifier: Apache-2.0
#include "memory/verdict.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace shardfit;
using namespace shardfit::memory;

TEST_CASE("a need that meets the capacity dies as often as not") {
  CHECK(oom_probability(gib(80), gib(80), gib(2)) == doctest::Approx(0.5));
  CHECK(oom_probability(gib(78), gib(80), gib(2)) == doctest::Approx(0.5 - 0.5 / std::sqrt(3.0)));
  CHECK(oom_probability(gib(82), gib(80), gib(2)) == doctest::Approx(0.5 + 0.5 / std::sqrt(3.0)));
  // Far away it stays possible, as reports show: at three bands a normal distribution would leave 0.1 %.
  CHECK(oom_probability(gib(74), gib(80), gib(2)) == doctest::Approx(0.0477).epsilon(0.01));
}

TEST_CASE("the probability grows with the need and stays a probability") {
  double before = 0;
  for (int need = 0; need <= 200; need += 5) {
    const double p = oom_probability(gib(need), gib(80), gib(3));
    CHECK(p >= before);
    CHECK(p <= 1);
    before = p;
  }
}

TEST_CASE("without a band the verdict is a step, and a full GPU fits") {
  CHECK(oom_probability(gib(80), gib(80), Bytes(0)) == 0);
  CHECK(oom_probability(gib(80) + Bytes(1), gib(80), Bytes(0)) == 1);
}

TEST_CASE("the band is in quadrature over classes and linear in one") {
  MemoryLedger state, both;
  state.add(MemoryTerm::weights, gib(10));
  state.add(MemoryTerm::gradients, gib(20));
  CHECK(in_gib(error_band(state)) == doctest::Approx(30 * relative_band(TermClass::state)));
  both.add(MemoryTerm::weights, gib(30));
  both.add(MemoryTerm::saved_mlp, gib(30));
  const double a = 30 * relative_band(TermClass::state), b = 30 * relative_band(TermClass::saved);
  CHECK(in_gib(error_band(both)) == doctest::Approx(std::sqrt(a * a + b * b)));
}

TEST_CASE("every term has a class with a band") {
  for (std::size_t t = 0; t < kCount<MemoryTerm>; ++t) CHECK(relative_band(class_of(MemoryTerm(t))) > 0);
  CHECK(class_of(MemoryTerm::gradient_copy_fp32) == TermClass::state);
  CHECK(class_of(MemoryTerm::workspaces) == TermClass::small);
  CHECK(class_of(MemoryTerm::batch) == TermClass::saved);
  CHECK(class_of(MemoryTerm::logits) == TermClass::moment);
  CHECK(class_of(MemoryTerm::graph_reserve) == TermClass::pooled);
  CHECK(class_of(MemoryTerm::unmodelled) == TermClass::outside);
}

TEST_CASE("what a scenario leaves open widens the band") {
  MemoryLedger need;
  need.add(MemoryTerm::weights, mib(10000));
  CHECK(in_mib(error_band(need)) == doctest::Approx(40));
  CHECK(in_mib(scenario_band(need, Framework::megatron)) == doctest::Approx(std::hypot(40, 880)));
  CHECK(in_mib(scenario_band(need, Framework::torch_fsdp2)) == doctest::Approx(std::hypot(40, 1000)));
  CHECK(in_mib(scenario_band(need, Framework::other)) == doctest::Approx(std::hypot(40, 3000)));
}
