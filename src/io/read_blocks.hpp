// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/reader.hpp"
#include "shardfit/spec/model.hpp"

namespace shardfit::io {

/// A mixer by its `kind` (models/README.md). Throws InputError on a key that the kind does not have.
MixerKind read_mixer(Object& o);

/// An MLP by its `kind`, likewise.
MlpKind read_mlp(Object& o);

}  // namespace shardfit::io
