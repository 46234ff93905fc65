// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/model.hpp"
#include "workload/sample.hpp"

namespace shardfit::workload {

/// What the images of one micro-batch come to, on the average rank.
struct VisionBatch {
  double images = 0;
  double tokens = 0;           ///< merged: rows of the decoder
  double patches = 0;          ///< rows of the tower
  double patches_squared = 0;  ///< sum over attention spans of patches^2
  double steps = 0;            ///< images, temporal steps: what context-parallel ranks may share out
  double positions = 0;        ///< places in the pictures: frames of a clip share theirs
  double spread = 0;           ///< coefficient of variation of the micro-batch's visual tokens
};

/// Patches that become one visual token (merge_size^2, or the pooling that the merger does).
int patches_per_token(const VisionSpec& vision);

/// The vision load of `samples` samples. No images: all zero. The spread of a sum of independent samples falls with the
/// square root of their number.
VisionBatch vision_batch(const SampleLoad& sample, double samples);

/// The fullest of `micro_batches` micro-batches, which decides memory; rows hold no more than `most_tokens` visual tokens.
VisionBatch fullest(VisionBatch batch, int micro_batches, double most_tokens);

/// What the busiest of `ranks` gets where they share out whole images and temporal steps by number: one image stays whole.
/// Source: Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/utils.py:qwen2vl_pad_and_split.
VisionBatch on_busiest_of(VisionBatch batch, int ranks);

/// Expected largest of `ranks` independent loads over their mean, for a gamma-distributed load with coefficient of
/// variation `spread`. Formula: Cornish-Fisher expansion of the gamma quantile at Blom's plotting position,
/// 1 + c*m + c^2*(m^2 - 1)/3 with m the standard normal quantile of (R - 3/8)/(R + 1/4); 1 for one rank.
double expected_slowest(int ranks, double spread);

}  // namespace shardfit::workload
