// SPDX-License-Identifier: Apache-2.0
#include "estimate/throughput.hpp"

#include "compute/model_flops.hpp"

namespace shardfit::estimate {

void set_throughput(const Job& job, const workload::VisionBatch& batch, const Layout& layout, Estimate& out) {
  const double gpu_seconds = out.step_time_s * job.gpus;
  const double samples = job.training.global_batch_size;
  const double tokens = samples * job.training.sequence_length;
  out.tokens_per_s_per_gpu = tokens / gpu_seconds;
  out.useful_tokens_per_s_per_gpu = out.tokens_per_s_per_gpu * job.training.packing_efficiency;
  out.samples_per_s = samples / out.step_time_s;
  out.images_per_s = batch.images / layout.micro_batch_size * samples / out.step_time_s;

  const double flops = compute::model_flops_per_token(job, layout.tp) * tokens;
  double vision = 0;
  if (batch.patches > 0)
    vision = compute::vision_model_flops(*job.model.vision, {.patches = batch.patches,
                                                             .patches_squared = batch.patches_squared,
                                                             .merged_tokens = batch.tokens}) /
             layout.micro_batch_size * samples;
  out.model_tflops_per_gpu = flops / gpu_seconds / 1e12;
  out.model_tflops_per_gpu_with_vision = (flops + vision) / gpu_seconds / 1e12;
  const EnumArray<Math, Figure>& peak = job.hardware.gpu.peak_tflops;
  const Math math = math_of(job.training.precision);
  const Math named = math == Math::mxfp8 || math == Math::fp8_block ? Math::fp8 : math;
  out.mfu_peak_tflops = peak[named].value > 0 ? peak[named].value : peak[Math::bf16].value;
  out.mfu = out.model_tflops_per_gpu / out.mfu_peak_tflops;
}

}  // namespace shardfit::estimate
