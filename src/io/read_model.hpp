// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/reader.hpp"
#include "shardfit/spec/model.hpp"

namespace shardfit::io {

/// A model in the schema of models/README.md. Inline specs of runs may leave out optional keys.
ModelSpec read_model(const Value& value);

/// Its decoder and its tower.
TextSpec read_text(const Value& value);
VisionSpec read_vision(const Value& value);

/// A model by file name, alias or path; `asked` is where the name stands.
ModelSpec find_model(const std::string& name, const Place& asked);

}  // namespace shardfit::io
