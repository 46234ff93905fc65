// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace shardfit::calibrate {

/// A number to fit. The fit starts at `start`, stays within [low, high] and is pulled to `expected`: a distance of
/// `expected` itself weighs like a residual of `pull`.
struct Variable {
  std::string name;
  double start = 0, expected = 0, low = 0, high = 0;
  double pull = 0.25;  ///< assumed: 20 % off the expectation weighs like one row off by 5 %
};

/// What to make small: one residual a row (0: met), each with a weight. `depends` says whether a row's residual can move
/// with a variable at all: the derivatives of the others are not computed.
struct Objective {
  std::vector<double> weights;
  std::function<double(std::size_t row, std::span<const double> values)> residual;
  std::function<bool(std::size_t row, std::size_t variable)> depends;
};

struct FitOptions {
  double cauchy_scale = 0.12;  ///< residuals well beyond it count little; 0: plain least squares
  int max_iterations = 40;
  double tolerance = 1e-5;  ///< of the objective, relative: stop below it
};

struct FittedVariables {
  std::vector<double> values, standard_errors;  ///< the errors include the pull
  double cost = 0;
  int iterations = 0;
};

/// Levenberg-Marquardt with numeric derivatives, Cauchy weights renewed every step, bounds by projection.
/// Without rows the variables come to rest at their expectations. Throws nothing of its own.
FittedVariables fit(const std::vector<Variable>& variables, const Objective& objective, const FitOptions& options = {});

}  // namespace shardfit::calibrate
