// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/model.hpp"

namespace shardfit::workload {

/// What an image becomes: rows of the tower, and rows of the decoder.
struct ImageTokens {
  int width = 0, height = 0;       ///< after the processor's resize (and padding)
  int patches = 0;
  int tokens = 0;
};

/// An image of width x height pixels through the model's published processor, or through recipe limits (`min_pixels`,
/// `max_pixels` above 0 win over the model's). Sizes must be at least 1.
/// Formula, with f = patch * merge: native: sides rounded to f, then shrunk or grown by sqrt(limit / pixels) and floored or
/// ceiled to f; native_padded: only shrunk, to the patch limits, then padded up to f; fixed: always the same.
/// Source: Hugging Face image processors (qwen2_vl, glm4v, kimi_k25, gemma3); models/README.md.
ImageTokens image_tokens(const VisionSpec& vision, int width, int height, std::int64_t min_pixels = 0,
                         std::int64_t max_pixels = 0);

}  // namespace shardfit::workload
