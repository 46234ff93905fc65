// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/document.hpp"
#include "shardfit/search/sweep.hpp"

// The parts of a sweep's document that say what was looked for and how firm the answer is.

namespace shardfit::report {

/// Objective, metrics of the front, price, power, tokens to train, base layout, limits; with where a figure is from.
Section goals_section(const Study& study, const SweepResult& result);

/// What the layouts have in common that the model cannot tell from the best.
Section near_ties_section(const NearTies& ties);

/// What each winner loses when one axis moves one step.
Section sensitivity_section(const Study& study, const SweepResult& result);

/// The better layouts that a little more memory would make feasible.
Section more_memory_section(const Study& study, const SweepResult& result);

/// The best layout's figure by the objective: "12,345.6 tokens/s/GPU", "7,890 USD".
std::string objective_text(const Study& study, const Candidate& candidate);

}  // namespace shardfit::report
