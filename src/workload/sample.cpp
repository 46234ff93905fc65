// SPDX-License-Identifier: Apache-2.0
#include "workload/sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shardfit/spec/tower.hpp"
#include "workload/image_tokens.hpp"
#include "workload/quantile.hpp"
#include "workload/vision_batch.hpp"

namespace shardfit::workload {
namespace {

constexpr int kFp8Rows = 16;     // rows are a multiple of it in every precision: qwen3_vl_step.py, use_fp8_padding
constexpr int kSizePoints = 15;  // of a size's distribution; the mean of 31 differs by less than 1 %

/// Weighted sums over the pictures that a sample may hold.
struct PictureSums {
  double weight = 0, tokens = 0, tokens_squared = 0, patches = 0, patches_squared = 0, steps = 0, positions = 0;

  void add(const VisualTokens& v, double w) {
    weight += w;
    tokens += w * v.tokens;
    tokens_squared += w * double(v.tokens) * v.tokens;
    patches += w * v.patches;
    patches_squared += w * v.patches_squared;
    steps += w * v.steps;
    positions += w * v.positions;
  }
};

void add_size(PictureSums& sums, const VisionSpec& vision, const VisionWorkload& workload, const ImageSize& size) {
  const int points = workload.size_spread > 0 ? kSizePoints : 1;
  const double sigma = std::sqrt(std::log1p(workload.size_spread * workload.size_spread));
  for (int i = 0; i < points; ++i) {
    const double z = points == 1 ? 0 : normal_quantile((i + 0.5) / points);
    const double side = points == 1 ? 1 : std::exp((sigma * z - sigma * sigma / 2) / 2);
    const int width = std::max(1, int(std::lround(size.width * side))),
              height = std::max(1, int(std::lround(size.height * side)));
    sums.add(visual_tokens(vision, {width, height, workload.frames, workload.min_pixels, workload.max_pixels}),
             size.share / points);
  }
}

/// A picture of which only the visual tokens are known.
PictureSums stated_tokens(const VisionSpec& vision, const VisionWorkload& workload) {
  const double tokens = workload.visual_tokens_per_image, patches = tokens * patches_per_token(vision);
  const double spread = workload.spread.value_or(0);
  // The spread is that of a sample; of one picture it is larger by the root of their number.
  const double variance = spread * spread * std::max(1.0, workload.images_per_sample);
  return {1, tokens, tokens * tokens, patches, patches * patches * (1 + variance), 1, patches};
}

}  // namespace

SampleLoad sample_load(const VisionSpec& vision, const VisionWorkload& workload) {
  SampleLoad load;
  const double n = workload.mock ? 0 : workload.images_per_sample;
  PictureSums one;
  if (n > 0) {
    if (workload.sizes.empty())
      one = stated_tokens(vision, workload);
    else
      for (const ImageSize& size : workload.sizes) add_size(one, vision, workload, size);
    load.images = n;
    load.visual_tokens = n * one.tokens / one.weight;
    load.patches = n * one.patches / one.weight;
    load.patches_squared = n * one.patches_squared / one.weight;
    load.steps = n * one.steps / one.weight;
    load.positions = n * one.positions / one.weight;
    const double mean = one.tokens / one.weight;
    const double variance = std::max(0.0, one.tokens_squared / one.weight - mean * mean);
    const double of_sample = n * variance + std::pow(workload.images_spread * load.visual_tokens, 2);
    load.visual_spread = workload.spread ? *workload.spread : std::sqrt(of_sample) / load.visual_tokens;
  }
  if (workload.text_tokens <= 0) return load;
  load.tokens = workload.text_tokens + load.steps * vision.text_tokens_per_image + load.visual_tokens;
  load.tokens_spread = std::hypot(workload.text_tokens * workload.text_spread, load.visual_tokens * load.visual_spread) /
                       load.tokens;
  return load;
}

double samples_per_row(const TrainingSpec& training, const SampleLoad& sample) {
  if (training.packing == Packing::none || sample.tokens <= 0) return 1;
  return std::max(1.0, training.sequence_length * training.packing_efficiency / sample.tokens);
}

double useful_share(const TrainingSpec& training, const SampleLoad& sample) {
  if (training.packing != Packing::none || sample.tokens <= 0) return training.packing_efficiency;
  return std::min(1.0, sample.tokens / training.sequence_length);
}

double useful_tokens_per_step(const Job& job) {
  const TrainingSpec& t = job.training;
  const bool sees = runs_vision(job.model, t);
  const SampleLoad sample = sees ? sample_load(*job.model.vision, t.vision.value_or(VisionWorkload{})) : SampleLoad{};
  return double(t.global_batch_size) * t.sequence_length * useful_share(t, sample);
}

int executed_sequence(const Job& job, const Layout& layout, const SampleLoad& sample, int ranks) {
  const int full = job.training.sequence_length;
  // The switch is Qwen3-VL's step's; models whose tower is a published module have a step that does not pad for ep.
  const bool other_step = job.stack.entry_point == EntryPoint::megatron_bridge && !built_of_megatron_layers(job.model);
  const bool pads_when_ep = job.stack.vision_pads_when_ep && !other_step;
  // HybridEP wants as many tokens of every rank of an expert group; ranks of one replica have the same rows anyway.
  const bool exchanges_rows = (layout.tp * layout.cp) % (layout.ep * layout.etp) != 0;
  const bool padded = job.training.packing != Packing::none || layout.pp > 1 || (layout.ep > 1 && pads_when_ep) ||
                      (exchanges_rows && layout.dispatcher == Dispatcher::hybridep);
  if (padded || sample.tokens <= 0) return full;
  const double rows = double(layout.micro_batch_size) * std::max(1, ranks);
  const double longest = sample.tokens * expected_slowest(int(std::min(rows, 1e9)), sample.tokens_spread);
  const int step = std::lcm(layout.cp > 1 ? 2 * layout.tp * layout.cp : layout.tp, kFp8Rows);
  return std::min(full, int(std::ceil(std::min(longest, double(full)) / step)) * step);
}

}  // namespace shardfit::workload
