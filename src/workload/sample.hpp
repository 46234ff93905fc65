// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/scenario.hpp"

namespace shardfit::workload {

/// What one sample comes to on average, by the model's own image rule. Spreads are coefficients of variation.
struct SampleLoad {
  double images = 0;           ///< pictures; of a video its clips
  double patches = 0;          ///< rows of the tower
  double patches_squared = 0;  ///< sum over attention spans of patches^2
  double steps = 0;            ///< images, and temporal steps of clips
  double positions = 0;        ///< places in the pictures: frames of a clip share theirs
  double visual_tokens = 0;    ///< rows of the decoder that images take
  double visual_spread = 0;
  double tokens = 0;  ///< text, visual and marker tokens; 0: the workload does not say how much text there is
  double tokens_spread = 0;
};

/// The load of one sample.
/// Formula: sizes are a mixture, each size spread log-normally in its pixel count (15 equiprobable points); with m and s
/// the mean and deviation of one picture's tokens, n pictures whose number varies by c: mean n*m, variance
/// n*s^2 + (c*n*m)^2. A stated `spread` wins over that. Text is independent of pictures.
/// Source: the image rules of image_tokens.hpp; the rest is the variance of a compound sum.
SampleLoad sample_load(const VisionSpec& vision, const VisionWorkload& workload);

/// Samples in one row of the batch: 1, or how many fit a packed row at the stated efficiency. A packed workload without
/// text is taken as stated for the whole row.
double samples_per_row(const TrainingSpec& training, const SampleLoad& sample);

/// Share of a full-length row that is no padding: the packing's efficiency, or a sample over the row.
double useful_share(const TrainingSpec& training, const SampleLoad& sample);

/// Tokens of a step that are no padding, by what the job's workload says.
double useful_tokens_per_step(const Job& job);

/// Tokens of the rows that the decoder runs, at the rank that `ranks` wait for. Full length where the step pads: packed
/// rows, pp above 1, ep above 1 in stacks that do so (since 2026-04-13; the step of Qwen3-VL and Qwen3.5), and HybridEP across
/// replicas, whose ranks must bring equally many tokens. Else the longest of the micro-batches of all waiting ranks, a
/// multiple of 16 and of tp (2*tp*cp with cp). Full length also where
/// the workload does not say how much text there is.
/// Source: Megatron-Bridge models/qwen_vl/qwen3_vl_step.py (5adee56a8 of 2026-04-13).
int executed_sequence(const Job& job, const Layout& layout, const SampleLoad& sample, int ranks);

}  // namespace shardfit::workload
