// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/reader.hpp"

namespace shardfit::io {

/// Whether a JSON object is a model's configuration as Hugging Face publishes it, and no model file of this project.
bool is_hf_config(const Value& value);

/// The same decoder as a model file (models/README.md). Only families whose layers are told by their configuration alone: plain
/// GQA or MLA layers, dense or with experts. Throws InputError for any other family, and for what would need more than the
/// configuration says. Keys that change no shape (initialisation, rope, dropout, quantisation of the checkpoint) are
/// passed over; any other that is not read is named in `notes`, unless it says that something is not there (null, false, 0).
/// Source: transformers
/// models/{llama,mistral,qwen2,qwen2_moe,qwen3,qwen3_moe,mixtral,olmoe,deepseek_v2,deepseek_v3}/configuration_*.py and
/// modeling_*.py.
Json model_of_hf(const Value& config, std::vector<std::string>* notes = nullptr);

}  // namespace shardfit::io
