// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "validation/score.hpp"

namespace shardfit::validation {

/// What someone states of measured runs that no computing field of a row holds. It takes part in a prediction, so it is
/// given in a file of its own, by hand, and every use is counted in what `validate` prints.
struct RunFact {
  std::string runs;      ///< ids that it holds for; `*` stands for any text
  bool resumed = false;  ///< they started from a checkpoint
  std::string source;    ///< how that is known
};

/// Whether a text is of a pattern in which `*` stands for any text, also for none.
bool is_of_pattern(const std::string& text, const std::string& pattern);

/// States the facts of the runs that they hold for; how many each holds for, in their order.
std::vector<int> state_facts(const std::vector<RunFact>& facts, std::vector<MeasuredRun>& runs);

/// How many measured peaks of first steps come out within 1 %, if the run began without moments, if it began with them
/// (loaded with a checkpoint), and in either way. What a run did is no field of a row, so without a stated fact a row is
/// scored as begun without; this tells how much hangs on that.
struct FirstSteps {
  int rows = 0, stated = 0;  ///< with a measured first step; of them with a fact that says which it was
  int fresh = 0, resumed = 0, either = 0;
};
FirstSteps read_first_steps(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows);

}  // namespace shardfit::validation
