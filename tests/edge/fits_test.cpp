// SPDX-License-Identifier: Apache-2.0
// A layout fits a device that has exactly what it needs, and no longer one that has one MiB less, whatever technique
// it uses; the sweep's figure and the estimate's ledger agree on where that edge is.
#include <doctest/doctest.h>

#include "edge/families.hpp"

using namespace shardfit;

namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

bool fits(Job job, const Layout& layout, Bytes usable) {
  job.hardware.gpu.memory_usable_gib.value = double(usable.value) / double(1LL << 30);
  const Estimator estimator(job);
  Estimator::Workspace workspace;
  const bool quick = estimator.quick(layout, workspace).fits;
  CHECK(estimator.evaluate(layout).verdict.fits == quick);
  return quick;
}

}  // namespace

TEST_CASE("each family fits at n MiB and not at n - 1") {
  for (const families::Family& family : families::all()) {
    CAPTURE(family.name);
    const Scenario s = families::scenario_of(family);
    const auto violations = all_violations(s.job, s.base);
    REQUIRE_MESSAGE(violations.empty(), rules()[std::size_t(violations.empty() ? 0 : violations.front().rule)].code);
    const Estimate e = Estimator(s.job).evaluate(s.base);
    const std::int64_t n = (e.verdict.need.value + kMebibyte - 1) / kMebibyte;
    CHECK(fits(s.job, s.base, Bytes(n * kMebibyte)));
    CHECK_FALSE(fits(s.job, s.base, Bytes((n - 1) * kMebibyte)));
  }
}

TEST_CASE("the chance of running out is one half at the edge, and falls as memory grows") {
  for (const families::Family& family : families::all()) {
    CAPTURE(family.name);
    const Scenario s = families::scenario_of(family);
    Job job = s.job;
    const double need = Estimator(job).evaluate(s.base).verdict.need.value / double(1LL << 30);
    double last = 1;
    for (const double factor : {0.8, 1.0, 1.25, 2.0}) {
      job.hardware.gpu.memory_usable_gib.value = need * factor;
      const double p = Estimator(job).evaluate(s.base).verdict.p_oom;
      if (factor == 1) CHECK(p == doctest::Approx(0.5).epsilon(1e-6));
      CHECK(p < last);
      last = p;
    }
  }
}
