// SPDX-License-Identifier: Apache-2.0
#include "estimate/throughput.hpp"

#include "compute/model_flops.hpp"

namespace shardfit::estimate {

void set_throughput(const Job& job, const workload::SampleLoad& sample, const Layout& layout, Estimate& out) {
  const double gpu_seconds = out.step_time_s * job.gpus;
  const double rows = job.training.global_batch_size;
  const double samples = rows * workload::samples_per_row(job.training, sample);
  const double tokens = rows * job.training.sequence_length;
  out.tokens_per_s_per_gpu = tokens_per_s_per_gpu(job, out.step_time_s);
  out.useful_tokens_per_s_per_gpu = workload::useful_tokens_per_step(job) / gpu_seconds;
  out.samples_per_s = samples / out.step_time_s;
  out.images_per_s = sample.images * samples / out.step_time_s;

  const double flops = compute::model_flops_per_token(job, layout.tp) * tokens;
  double vision = 0;
  if (sample.patches > 0)
    vision = samples * compute::vision_model_flops(*job.model.vision, {.patches = sample.patches,
                                                                       .patches_squared = sample.patches_squared,
                                                                       .merged_tokens = sample.visual_tokens});
  out.model_tflops_per_gpu = flops / gpu_seconds / 1e12;
  out.model_tflops_per_gpu_with_vision = (flops + vision) / gpu_seconds / 1e12;
  const EnumArray<Math, Figure>& peak = job.hardware.gpu.peak_tflops;
  const Math math = math_of(job.training.precision);
  const Math named = math == Math::mxfp8 || math == Math::fp8_block ? Math::fp8 : math;
  out.mfu_peak_tflops = peak[named].value > 0 ? peak[named].value : peak[Math::bf16].value;
  out.mfu = out.model_tflops_per_gpu / out.mfu_peak_tflops;
}

}  // namespace shardfit::estimate
