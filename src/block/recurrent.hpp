// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// Adds the scan's kernels: `flops` forward, 2.5 times as many backward (chunk states are made again).
void add_scan(Op& op, double flops, const Shapes& shapes);

/// Adds the exchange of `width` elements a token between context-parallel ranks (sequence for heads), both ways,
/// exposed.
void add_sequence_exchange(Op& op, const char* name, double width, const Shapes& shapes);

/// Adds a weight that is split over tp and no matrix: depthwise convolutions (3-D), decay rates, time steps.
void add_split_weight(Op& op, const char* name, ParamGroup group, std::int64_t elements, const Shapes& shapes,
                      bool fp32 = false);

/// Bytes moved for each channel of the convolution and each channel of the inner width (counted, checked by the
/// step-time fit: together 4 and 14 forward, 10 and 24 backward): the convolution; what feeds the scan; the gated
/// norm.
inline constexpr double kConvForward = 4, kConvBackward = 10;
inline constexpr double kScanFeedForward = 8, kScanFeedBackward = 14;
inline constexpr double kGatedNormForward = 6, kGatedNormBackward = 10;

}  // namespace shardfit::block
