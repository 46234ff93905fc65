// SPDX-License-Identifier: Apache-2.0
#include "workload/vision_batch.hpp"

#include <algorithm>
#include <cmath>

#include "workload/image_tokens.hpp"

namespace shardfit::workload {
namespace {

/// Standard normal quantile by Acklam's rational approximation (relative error below 1.2e-9).
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                          1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  constexpr double tail = 0.02425;
  if (p > 1 - tail) return -normal_quantile(1 - p);
  if (p < tail) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  const double q = p - 0.5, r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

}  // namespace

int patches_per_token(const VisionSpec& vision) {
  const int side = std::max(1, vision.merger.merge_size);
  return side * side;
}

VisionBatch vision_batch(const VisionSpec& vision, const VisionWorkload& workload, double samples) {
  VisionBatch batch;
  if (workload.mock || workload.images_per_sample <= 0 || samples <= 0) return batch;
  const double tokens = workload.image_width > 0
                            ? image_tokens(vision, workload.image_width, workload.image_height).tokens
                            : workload.visual_tokens_per_image;
  batch.images = samples * workload.images_per_sample;
  batch.tokens = batch.images * tokens;
  batch.patches = batch.tokens * patches_per_token(vision);
  const double of_one = tokens * patches_per_token(vision);
  const double variance_of_one = workload.spread * workload.spread * std::max(1.0, workload.images_per_sample);
  batch.patches_squared = batch.images * of_one * of_one * (1 + variance_of_one);
  batch.spread = workload.spread / std::sqrt(samples);
  return batch;
}

double expected_slowest(int ranks, double spread) {
  if (ranks <= 1 || spread <= 0) return 1;
  const double m = normal_quantile((ranks - 0.375) / (ranks + 0.25));
  return 1 + spread * m + spread * spread * (m * m - 1) / 3;
}

}  // namespace shardfit::workload
