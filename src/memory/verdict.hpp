// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/ledger/ledger.hpp"
#include "shardfit/spec/stack.hpp"

namespace shardfit::memory {

/// How well a class of terms is known.
enum class TermClass { state, small, saved, routed, moment, fsdp, graphs, reserve, pooled, outside, count };
TermClass class_of(MemoryTerm term);

/// One sigma of a class, relative to its bytes.
double relative_band(TermClass c);

/// One sigma of a need, in bytes: the classes' bands are taken as independent and added in quadrature.
Bytes error_band(const MemoryLedger& need);

/// Both the classes' bands and what a scenario leaves to defaults (dtypes, kernels, what a tool keeps), in quadrature.
/// Tools that shard neither as Megatron-Core nor as FSDP2 does leave most to defaults.
Bytes scenario_band(const MemoryLedger& need, Framework framework);

/// Probability that `need` passes `usable`, given the band (Student's, two degrees of freedom).
double oom_probability(Bytes need, Bytes usable, Bytes band);

}  // namespace shardfit::memory
