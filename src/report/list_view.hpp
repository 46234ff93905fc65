// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/report/document.hpp"
#include "shardfit/spec/hardware.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/stack.hpp"

namespace shardfit {

// What ships with the program.

Document models_document(const std::vector<ModelSpec>& models);
Document hardware_document(const std::vector<HardwareSpec>& clusters);
Document stacks_document(const std::vector<StackProfile>& stacks);
/// What samples may hold, in words.
struct WorkloadListing {
  std::string name;
  double images_per_sample = 0;
  std::string description, source;
};
Document workloads_document(const std::vector<WorkloadListing>& workloads);
/// What a published recipe sets, and for which runs, in words; empty fields: any run.
struct RecipeListing {
  std::string recipe, models, hardware, precision, gpus, where, from, to, settings, source;
};
Document recipes_document(const std::vector<RecipeListing>& settings);
/// Names of scenario files.
Document scenarios_document(const std::vector<std::string>& names);
/// Validity rules with who asserts them.
Document rules_document();
/// Terms of memory and time with formula, source and what they leave out.
Document terms_document();

}  // namespace shardfit
