// SPDX-License-Identifier: Apache-2.0
#include "workload/image_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "workload/vision_batch.hpp"

namespace shardfit::workload {
namespace {

int to_multiple(double side, int f, double (*round_to)(double)) { return std::max(f, int(round_to(side / f)) * f); }

double round_half_even(double v) { return std::nearbyint(v); }  // as Python's round, which the processors use

ImageTokens counted(const VisionSpec& vision, int width, int height) {
  ImageTokens t{.width = width, .height = height};
  t.patches = width / vision.patch_size * (height / vision.patch_size);
  t.tokens = t.patches / patches_per_token(vision);
  return t;
}

/// Limits on the pixels of all frames together: `padded` of them fill whole patches, `frames` are there.
struct PixelLimits {
  double min_pixels = 0, max_pixels = 0, padded = 1, frames = 1;
};

ImageTokens native(const VisionSpec& vision, int width, int height, const PixelLimits& limits) {
  const int f = vision.resolution.resize_multiple;
  const auto [min_pixels, max_pixels, padded, frames] = limits;
  int w = to_multiple(width, f, round_half_even), h = to_multiple(height, f, round_half_even);
  const double pixels = double(width) * height * frames;
  if (double(w) * h * padded > max_pixels) {
    const double shrink = std::sqrt(pixels / max_pixels);
    w = to_multiple(width / shrink, f, std::floor);
    h = to_multiple(height / shrink, f, std::floor);
  } else if (double(w) * h * padded < min_pixels) {
    const double grow = std::sqrt(min_pixels / pixels);
    w = to_multiple(width * grow, f, std::ceil);
    h = to_multiple(height * grow, f, std::ceil);
  }
  return counted(vision, w, h);
}

ImageTokens native_padded(const VisionSpec& vision, int width, int height, int max_patches) {
  const VisionSpec::Resolution& r = vision.resolution;
  const double p = vision.patch_size;
  double scale = std::min(1.0, std::sqrt(max_patches / (width / p * (height / p))));
  if (r.max_patches_per_side > 0)
    scale = std::min({scale, r.max_patches_per_side * p / width, r.max_patches_per_side * p / height});
  const double w = std::max(1.0, std::floor(width * scale)), h = std::max(1.0, std::floor(height * scale));
  return counted(vision, to_multiple(w, r.resize_multiple, std::ceil), to_multiple(h, r.resize_multiple, std::ceil));
}

// qwen-vl-utils: visual tokens of a frame, and of a clip (0.9 of 128,000).
constexpr double kFrameMinTokens = 128, kFrameMaxTokens = 768, kClipMaxTokens = 115'200, kMaxOverMin = 1.05;

// GLM-4.5V's processor, which counts a still image as the frames of a patch, limits a clip as a whole (28 * 28 * 2 * 30000).
constexpr double kWholeClipMaxPixels = 47'040'000;

/// One frame of a clip.
ImageTokens frame_tokens(const VisionSpec& vision, const Picture& p) {
  const VisionSpec::Resolution& r = vision.resolution;
  if (r.kind == VisionSpec::Resolution::Kind::fixed) return counted(vision, r.image_size, r.image_size);
  if (r.kind == VisionSpec::Resolution::Kind::native_padded)
    return native_padded(vision, p.width, p.height, r.max_patches_per_frame > 0 ? r.max_patches_per_frame : r.max_patches);
  if (r.frames_counted > 1 && p.max_pixels <= 0) {
    const double padded = std::ceil(double(p.frames) / vision.temporal_patch_size) * vision.temporal_patch_size;
    return native(vision, p.width, p.height, {double(r.min_pixels), kWholeClipMaxPixels, padded, double(p.frames)});
  }
  const double token = double(r.resize_multiple) * r.resize_multiple * r.frames_counted;
  const double low = p.min_pixels > 0 ? double(p.min_pixels) : kFrameMinTokens * token;
  const double share = kClipMaxTokens * token * vision.temporal_merge / p.frames;
  const double high = p.max_pixels > 0 ? double(p.max_pixels)
                                       : std::max(std::min(kFrameMaxTokens * token, share), kMaxOverMin * low);
  return native(vision, p.width, p.height, {low, high, double(r.frames_counted), double(r.frames_counted)});
}

}  // namespace

VisualTokens visual_tokens(const VisionSpec& vision, const Picture& p) {
  if (p.frames <= 0) {
    const ImageTokens image = image_tokens(vision, p.width, p.height, p.min_pixels, p.max_pixels);
    return {double(image.patches), double(image.tokens), double(image.patches) * image.patches, 1, double(image.patches)};
  }
  const ImageTokens frame = frame_tokens(vision, p);
  const double steps = std::ceil(double(p.frames) / vision.temporal_merge);
  // Frames that one patch joins are padded up; those that are averaged later run as they are.
  const double rows = vision.temporal_patch_size > 1 ? std::ceil(double(p.frames) / vision.temporal_patch_size) : p.frames;
  const double span = rows / steps * frame.patches;
  return {rows * frame.patches, steps * frame.tokens, steps * span * span, steps, double(frame.patches)};
}

ImageTokens image_tokens(const VisionSpec& vision, int width, int height, std::int64_t min_pixels, std::int64_t max_pixels) {
  const VisionSpec::Resolution& r = vision.resolution;
  switch (r.kind) {
    case VisionSpec::Resolution::Kind::fixed: return counted(vision, r.image_size, r.image_size);
    case VisionSpec::Resolution::Kind::native_padded: return native_padded(vision, width, height, r.max_patches);
    default:
      return native(vision, width, height,
                    {double(min_pixels > 0 ? min_pixels : r.min_pixels), double(max_pixels > 0 ? max_pixels : r.max_pixels),
                     double(r.frames_counted), double(r.frames_counted)});
  }
}

}  // namespace shardfit::workload
