// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/reader.hpp"
#include "shardfit/spec/model.hpp"

namespace shardfit::io {

/// A model in the schema of models/README.md, or as Hugging Face publishes its configuration. Inline specs of runs may
/// leave out optional keys. `notes` gets what a reader should be told of what was not read.
ModelSpec read_model(const Value& value, std::vector<std::string>* notes = nullptr);

/// Its decoder and its tower.
TextSpec read_text(const Value& value);
VisionSpec read_vision(const Value& value);

/// A model by file name, alias or path; `asked` is where the name stands.
ModelSpec find_model(const std::string& name, const Place& asked, std::vector<std::string>* notes = nullptr);

}  // namespace shardfit::io
