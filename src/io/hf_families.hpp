// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "io/reader.hpp"

namespace shardfit::io {

/// What the code of a Hugging Face family does and its configuration does not say.
struct HfFamily {
  const char* model_type;
  const char* experts = nullptr;       ///< key of their number; none: dense
  const char* expert_width = nullptr;  ///< key of an expert's width
  const char* qk_norm = "none";
  bool qkv_bias = false;
  bool mla = false;
  bool indexer = false;           ///< DeepSeek sparse attention
  const char* score = "softmax";  ///< the router's, where the configuration does not say
  const char* topk_method = "";   ///< the same
};

/// What to do about a configuration that is not read.
inline constexpr const char* kWriteModelFile =
    "write a model file: copy the nearest of models/; models/README.md names every key";

/// The family of a configuration by its model_type. Throws InputError, which names the families that are known.
HfFamily hf_family_of(Object& config);

/// Whether a key says nothing of a layer's shape or work: how weights start, what tokens mean, how generation and losses go,
/// rope's angles, the checkpoint's format. Those of shapes that a family does not read are not among them.
bool says_no_shape(std::string_view key);

}  // namespace shardfit::io
