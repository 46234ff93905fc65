// SPDX-License-Identifier: Apache-2.0
#include "validation/effects.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::validation;

namespace {

/// Two runs whose peaks are predicted 70 and 58 GB, and the pair between them.
struct Pair {
  std::vector<MeasuredRun> runs{2};
  std::vector<Row> rows{2};
  MeasuredEffect effect;
  Pair() {
    const char* ids[] = {"a", "b"};
    const double peaks[] = {70, 58};
    for (int i = 0; i < 2; ++i) {
      runs[std::size_t(i)].id = rows[std::size_t(i)].id = ids[i];
      rows[std::size_t(i)].scores = {{"peak_allocated_gb", peaks[i], peaks[i]}};
      rows[std::size_t(i)].estimate.emplace();
    }
    effect.id = "e";
    effect.a = "a";
    effect.b = "b";
    effect.quantity = "peak_memory";
    effect.unit = "GB";
    effect.noise = 0.3;
    effect.clean = true;
    effect.measured = -3.2;
  }
  EffectSummary score(const std::vector<MeasuredEffect>& effects) const { return score_effects(effects, runs, rows).summary; }
};

}  // namespace

TEST_CASE_FIXTURE(Pair, "what a run that died had allocated bounds a difference from one side") {
  CHECK(score({effect}).size_right == 0);  // 12 GB predicted, 3.2 measured
  effect.a_died = true;                    // it needed more than it had: at least 3.2 GB less
  CHECK(score({effect}).size_right == 1);
  effect.measured = -30;  // at least 30 GB less, 12 predicted
  CHECK(score({effect}).size_right == 0);
  effect.a_died = false;
  effect.b_died = true;
  effect.measured = 3.2;  // the sign is asked of bounds too
  CHECK(score({effect}).size_right == 0);
}

TEST_CASE_FIXTURE(Pair, "no change at all is not the right sign of any") {
  rows[1].scores = rows[0].scores;
  CHECK(score({effect}).sign_right == 0);
  effect.measured = 3.2;
  CHECK(score({effect}).sign_right == 0);
}

TEST_CASE_FIXTURE(Pair, "a change seen in several releases counts once by family") {
  MeasuredEffect wrong = effect, right = effect;
  right.measured = -12;
  wrong.family = "x";
  right.family = "y";
  const EffectSummary s = score({wrong, wrong, wrong, right});
  CHECK(s.size_right == 1);
  CHECK(s.families == 2);
  CHECK(s.family_size_right == doctest::Approx(0.5));
  CHECK(s.family_sign_right == doctest::Approx(1));
}
