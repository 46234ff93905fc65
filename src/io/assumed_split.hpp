// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// The split that a reported run must have had where the one it states cannot have been used as written; none
/// where it can.
/// - One stage: stage layer counts had no effect.
/// - A layout string with MTP of a run without MTP: the same string without its m.
/// - No split stated, and the layers do not divide evenly: every chunk the same rounded-up count, the last
/// what is left, and
///   the first fewer where the last cannot take it all. "Et|(tt|)*30mL", "Et*4|(t*4|)*14tmL" and
///   Megatron-SWIFT's decoder_last_pipeline_num_layers are of this form. Hybrids split by their pattern, so
///   are left alone.
std::optional<PipelineSplit> assumed_split(const ModelSpec& model, const TrainingSpec& training, const Layout& layout);

}  // namespace shardfit::io
