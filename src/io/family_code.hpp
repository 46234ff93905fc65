// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

namespace shardfit::io {

/// Fills in what the code of a model's family does and a model inline in a run or scenario leaves out (activation, soft cap
/// of the logits, norms beside those of every decoder), with a note. What is stated stays.
void add_family_code(Json& model, std::vector<std::string>* notes);

}  // namespace shardfit::io
