// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/robust_fit.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::calibrate {

/// What is expected of a coefficient before any training run is seen, and where a value would be implausible.
struct Expectation {
  double expected, low, high;
};
Expectation expectation_of(Coefficient c);

/// The same of a GPU's sustained over burst tensor rate, by the system's name; a default for GPUs not listed.
Expectation sustained_expectation(const std::string& system);

/// A shared coefficient, or the sustained factor of one system's GPU.
struct SharedVariable {
  Coefficient coefficient = Coefficient::count;  ///< count: `system`'s sustained factor
  std::string system;
  Variable variable;
  bool is_sustained() const { return coefficient == Coefficient::count; }
};

/// Every coefficient, and a sustained factor for each system among `jobs`. All start where the jobs have them.
std::vector<SharedVariable> shared_variables(std::span<const Job* const> jobs);

/// Whether a job's step time can move with the variable.
bool depends(const Job& job, const SharedVariable& variable);

}  // namespace shardfit::calibrate
