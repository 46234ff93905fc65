// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/load_study.hpp"
#include "shardfit/search/partial.hpp"

namespace shardfit::io {

/// What a partial sweep was made from and by. Two parts belong together only if all of it is equal.
struct PartialKey {
  std::string version;   ///< of the program and its cost model
  std::string scenario;  ///< fingerprint of the scenario, the search and the goals, flags included
  std::string data;      ///< fingerprint of models, hardware, stacks and coefficients
};

/// The key of a study as this program would sweep it, keeping the best `kept` layouts.
PartialKey partial_key(const StudyFile& file, const Study& study, const std::string& program_version, int kept);

/// A partial sweep as JSON, to the last bit; `all` is left out.
std::string partial_text(const PartialKey& key, const PartialSweep& part);

/// Reads it back. Throws InputError if it was not made by this program, from this scenario and this data.
PartialSweep parse_partial(const std::string& text, const std::string& file, const PartialKey& expected);
PartialSweep load_partial(const std::string& path, const PartialKey& expected);

}  // namespace shardfit::io
