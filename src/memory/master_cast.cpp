// SPDX-License-Identifier: Apache-2.0
#include "memory/master_cast.hpp"

#include <algorithm>

// Computes:   copies that exist while fp32 master weights become fp8 or fp4 weights again.
// Formula:    2 B x quantised elements of the rank's shard: each master is cast to bf16 first, for the same numbers as a
//             run with bf16 weights, and a list keeps all of these until the last is quantised. One optimizer after the
//             other, so of dense and expert parameters the larger. Megatron-FSDP casts 128-blocks in batches of 5 Gi
//             elements, whose whole buckets it gathers (1 B an element) meanwhile.
// Source:     Transformer Engine pytorch/tensor/utils.py (cast_master_weights_to_fp8, since 2.2; quantize_master_weights);
//             Megatron-LM core/fp8_utils.py, core/optimizer/distrib_optimizer.py (_copy_main_params_to_model_params),
//             core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py (copy_main_weights_to_model_weights).
// Valid when: parameters are gathered in fp8 or fp4 (training.fp8_param_gather).
// Ignores:    mxfp8 without reuse_grad_buf_for_mxfp8_param_ag (with it masters go straight into the gradient buffer);
//             nvfp4 before 2026-04-06, which joined all masters in fp32 first (4 B more); the group that passes a batch's end.
// Checked by: tests/memory/master_cast_test.cpp.

namespace shardfit::memory {

namespace {

/// Bytes of a cast master weight. Kind: read.
constexpr std::int64_t kCastBytes = 2;
/// Elements of gathered buckets after which Megatron-FSDP quantises what it has collected. Source:
/// BATCH_QUANT_MEMORY_LIMIT_BYTES. Kind: read.
constexpr std::int64_t kFsdpBatch = std::int64_t(5) << 30;

/// The optimizer updates weights of its own where it is precision-aware; with delayed scaling that holds in fp8 too.
/// Source: Megatron-LM core/optimizer/optimizer_config.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8.
bool updates_weights_itself(const StaticInputs& in) {
  return in.optimizer.precision_aware && in.precision == Precision::fp8_delayed;
}

}  // namespace

Bytes master_cast_bytes(const StaticInputs& in, std::int64_t shard, std::int64_t linear) {
  if (!in.fp8_param_gather || !is_quantized(in.precision) || updates_weights_itself(in)) return Bytes(0);
  switch (in.sharding) {
    case Sharding::optimizer: return Bytes(in.precision == Precision::mxfp8 ? 0 : kCastBytes * shard);
    case Sharding::full: {
      if (in.precision != Precision::fp8_blockwise) return Bytes(kCastBytes * shard);
      const std::int64_t gathered = std::min(linear, kFsdpBatch);
      return Bytes(gathered + std::min(kCastBytes * shard, kCastBytes * gathered));
    }
    default: return Bytes(0);
  }
}

}  // namespace shardfit::memory
