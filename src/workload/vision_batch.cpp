// SPDX-License-Identifier: Apache-2.0
#include "workload/vision_batch.hpp"

#include <algorithm>
#include <cmath>

#include "workload/quantile.hpp"

namespace shardfit::workload {
namespace {

VisionBatch scaled(VisionBatch batch, double times) {
  for (double* part : {&batch.images, &batch.tokens, &batch.patches, &batch.patches_squared, &batch.steps, &batch.positions})
    *part *= times;
  return batch;
}

}  // namespace

int patches_per_token(const VisionSpec& vision) {
  const int side = std::max(1, vision.merger.merge_size);
  return side * side;
}

VisionBatch vision_batch(const SampleLoad& sample, double samples) {
  if (sample.images <= 0 || samples <= 0) return {};
  return {.images = sample.images * samples,
          .tokens = sample.visual_tokens * samples,
          .patches = sample.patches * samples,
          .patches_squared = sample.patches_squared * samples,
          .steps = sample.steps * samples,
          .positions = sample.positions * samples,
          .spread = sample.visual_spread / std::sqrt(samples)};
}

VisionBatch fullest(VisionBatch batch, int micro_batches, double most_tokens) {
  if (batch.tokens <= 0) return batch;
  return scaled(batch, std::clamp(most_tokens / batch.tokens, 1.0, expected_slowest(micro_batches, batch.spread)));
}

VisionBatch on_busiest_of(VisionBatch batch, int ranks) {
  if (ranks <= 1 || batch.steps <= 1) return batch;
  return scaled(batch, std::min(1.0, std::ceil(batch.steps / ranks) / batch.steps));
}

double expected_slowest(int ranks, double spread) {
  if (ranks <= 1 || spread <= 0) return 1;
  const double m = normal_quantile((ranks - 0.375) / (ranks + 0.25));
  return 1 + spread * m + spread * spread * (m * m - 1) / 3;
}

}  // namespace shardfit::workload
