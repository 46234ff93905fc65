// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/score.hpp"

namespace shardfit::validation {

/// One pair of runs: how a quantity moved, measured and predicted, in the file's own unit (a ratio, or GB).
struct EffectRow {
  std::string id, kind, quantity, unit, family;
  bool clean = false;
  std::optional<double> measured, predicted;
  double noise = 0;
  bool above_noise = false;                     ///< the measured change is larger than its noise
  bool sign_right = false, size_right = false;  ///< size: within a third of the measured change
  bool no_change_right = false;                 ///< below noise: predicted below 5 % too
  std::string reason;                           ///< why there is no prediction
};

struct EffectSummary {
  int pairs = 0, predicted = 0;
  int clean_above_noise = 0, sign_right = 0, size_right = 0;
  int no_change = 0, no_change_right = 0;
  /// The clean pairs above their noise with the same change in several releases counted as one: how many such families, and
  /// the means of their shares.
  int families = 0;
  double family_sign_right = 0, family_size_right = 0;
};

struct Effects {
  std::vector<EffectRow> rows;
  EffectSummary summary;
};

/// Scores the pairs whose both runs are among `rows` (by id).
Effects score_effects(const std::vector<MeasuredEffect>& effects, const std::vector<MeasuredRun>& runs,
                      const std::vector<Row>& rows);

}  // namespace shardfit::validation
