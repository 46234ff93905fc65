// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/ledger/terms.hpp"

namespace shardfit {

/// The words of an explanation: what a term is, its formula, where the formula is from, and what it leaves out.
struct TermWords {
  const char* what;
  const char* formula;
  const char* source;
  const char* ignores;
};
const TermWords& words_of(MemoryTerm term);
const TermWords& words_of(TimeTerm term);

}  // namespace shardfit
