// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/model.hpp"

namespace shardfit::workload {

/// What an image becomes: rows of the tower, and rows of the decoder.
struct ImageTokens {
  int width = 0, height = 0;  ///< after the processor's resize (and padding)
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

/// An image (frames 0) or a clip of so many frames, of width x height pixels.
struct Picture {
  int width = 1, height = 1, frames = 0;
  std::int64_t min_pixels = 0, max_pixels = 0;  ///< recipe limits of an image or frame; 0: the model's
};

struct VisualTokens {
  double patches = 0;          ///< rows of the tower
  double tokens = 0;           ///< rows of the decoder
  double patches_squared = 0;  ///< sum over attention spans: one image, or the frames of one temporal step
  double steps = 1;            ///< temporal steps that the decoder sees
  double positions = 0;        ///< places in the picture: frames of a clip share theirs
};

/// Formula: an image is one step. A clip has ceil(frames / temporal_merge) steps; the tower runs
/// frames / temporal_patch_size rows of patches, attention spans the frames of one step. A frame's pixels lie between
/// 128 and 768 tokens, and a clip below 115,200 tokens in all, for processors that scale images to limits of pixels;
/// where a still image counts as several frames (GLM-4.5V), all frames of a clip together lie below 47,040,000 pixels;
/// where padding is the rule, below the model's patches a frame; a fixed size is the same for every frame.
/// Source: transformers glm4v video_processing_glm4v.py; qwen-vl-utils vision_process.py (VIDEO_MIN_TOKEN_NUM,
///   VIDEO_MAX_TOKEN_NUM, 0.9 * 128,000), kimi_k25 processor.
VisualTokens visual_tokens(const VisionSpec& vision, const Picture& picture);

}  // namespace shardfit::workload
