// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/parse.hpp"
#include "shardfit/spec/model.hpp"

// What a measured row leaves out and its software fills in.

namespace shardfit::io {

/// Fills fields that a row leaves out, from the words of its software: expert library, chunked logits, capacity,
/// dtypes, accumulation. Returns what was filled in by a guess that matters, in words.
std::vector<std::string> apply_software(Json& run);

/// Whether a row states figures of its stack that were inferred from its own sizes; `without_inferred` takes them out.
bool has_inferred(const Json& run);
Json without_inferred(Json run);

/// Expert parallelism of a row whose software names a dispatch library (DeepEP, HybridEP) though its `ep` is 1, which
/// such a library does not serve: as many ranks as share its experts evenly. Of torch tools only, whose expert ranks
/// are data-parallel ones. None where nothing contradicts.
std::optional<int> implied_expert_parallel(const Json& run, const ModelSpec& model, int ranks);

}  // namespace shardfit::io
