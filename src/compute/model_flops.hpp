// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/scenario.hpp"

namespace shardfit::compute {

/// What the tower of a batch sees, summed over its images: all additive.
struct VisionCount {
  double patches = 0;
  double patches_squared = 0;  ///< over attention spans (an image, or one frame of a video)
  double merged_tokens = 0;    ///< what the decoder gets
};

/// Model FLOP per token of the text decoder, training (3 x forward, 2 a multiply-add), as published TFLOP/s
/// count them. `tp` pads the vocabulary. `mean_span`: sum of len^2 over sum of len of the sub-sequences; 0:
/// the whole sequence.
double model_flops_per_token(const Job& job, int tp = 1, double mean_span = 0);

/// Model FLOP of the vision tower with its mergers, training, for what `count` sums over.
double vision_model_flops(const VisionSpec& vision, const VisionCount& count);

}  // namespace shardfit::compute
