// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/problem.hpp"

namespace shardfit::estimate {

/// Tokens as published tables count them: rows of full length.
inline double tokens_per_s_per_gpu(const Job& job, double step_time_s) {
  return double(job.training.global_batch_size) * job.training.sequence_length / step_time_s / job.gpus;
}

/// Fills padded and useful tokens, samples and images a second, model TFLOP/s (text; text and tower) and MFU from
/// `out.step_time_s`.
void set_throughput(const Job& job, const workload::SampleLoad& sample, const Layout& layout, Estimate& out);

}  // namespace shardfit::estimate
