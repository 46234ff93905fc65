// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/device.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::compute {

/// What one rank's optimizer works on.
struct OptimizerLoad {
  double shard_elements = 0;      ///< elements whose state this rank holds
  double gradient_elements = 0;   ///< elements of its gradient buffer (FSDP: its shard)
  double parameter_elements = 0;  ///< elements of its parameters that quantised runs make copies of
  double offload_fraction = 0;    ///< of the shard, stepped on the host
  double host_link = 0;           ///< bytes/s, GPU to host and back; needed where something is offloaded
};

/// fp32 gradient down, fp32 weight up, an element that the host steps.
inline constexpr double kHostLinkBytesPerElement = 8;

/// Time of one optimizer step outside its collectives, s: element-wise update, gradient norm, clipping,
/// zeroing, casts, and the host's share. Muon's matrix work is apart (newton_schulz_time).
double optimizer_step_time(const OptimizerLoad& load, const OptimizerSpec& optimizer, Precision precision,
                           const Device& device);

/// Bytes that the element-wise update moves per element of the shard.
double update_bytes_per_element(const OptimizerSpec& optimizer);

/// Time of Muon's orthogonalisation of `matrices` momentum matrices [rows, cols], s. A rank does it for whole
/// matrices only, and every tensor-parallel rank repeats it on the gathered matrix.
double newton_schulz_time(double rows, double cols, double matrices, const Device& device);

}  // namespace shardfit::compute
