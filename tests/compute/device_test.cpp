// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "sample_job.hpp"

using namespace shardfit;
using namespace shardfit::compute;

TEST_CASE("rates are datasheet figures times the shared factors") {
  const Device d = sample_device();
  CHECK(d.hbm == doctest::Approx(7.7e12));
  CHECK(d.memory_bandwidth == doctest::Approx(3.85e12));
  CHECK(d.permute_bandwidth == doctest::Approx(0.5 * 7.7e12));
  CHECK(d.quantize_bandwidth == doctest::Approx(3.08e12));
  CHECK(d.scan_flops == doctest::Approx(66e12 * 152 / 132));
  CHECK(1e6 * d.kernel_gap == doctest::Approx(3));
  CHECK(1e6 * d.host_call == doctest::Approx(15));
  CHECK(1e6 * d.host_launch == doctest::Approx(7));
  CHECK(d.attention_curves == 4);
}

TEST_CASE("the generation picks the memory fraction") {
  Job job = sample_job();
  job.hardware.gpu.generation = GpuGeneration::ampere;
  const Device d = make_device(job);
  CHECK(d.memory_bandwidth == doctest::Approx(0.6 * 7.7e12));
}

TEST_CASE("the sustained factor multiplies the factor of the number type") {
  Job job = sample_job();
  job.hardware.gpu.sustained_factor.value = 0.8;
  const Device d = make_device(job);
  CHECK(d.gemm_factor[Math::fp8] == doctest::Approx(0.8));
  CHECK(d.gemm_factor[Math::fp8_block] == doctest::Approx(0.8));
  CHECK(d.gemm_factor[Math::mxfp8] == doctest::Approx(0.72));
  CHECK(d.attention_factor == doctest::Approx(0.8));
}

TEST_CASE("a kind without a curve runs on its nearest") {
  const Device d = sample_device();
  CHECK(d.gemm[Math::mxfp8].rate_tflops == 3241);       // the per-tensor path
  CHECK(d.gemm[Math::fp32].rate_tflops == 1687 * 0.5);  // TF32

  Job ampere = sample_job();
  for (const Math kind : {Math::fp8, Math::fp8_block, Math::nvfp4}) ampere.hardware.gpu.gemm[kind] = {};
  CHECK(make_device(ampere).gemm[Math::fp8].rate_tflops == 1687);
  CHECK(make_device(ampere).gemm[Math::mxfp8].rate_tflops == 1687);
}

TEST_CASE("fp32 runs on TF32 under Transformer Engine, on the fp32 peak elsewhere") {
  Job job = sample_job();
  job.hardware.gpu.peak_tflops[Math::fp32].value = 0.04 * job.hardware.gpu.peak_tflops[Math::bf16].value;
  CHECK(make_device(job).gemm[Math::fp32].rate_tflops == 1687 * 0.5);
  job.stack.transformer_engine = false;
  CHECK(make_device(job).gemm[Math::fp32].rate_tflops == doctest::Approx(1687 * 0.04));
  job.stack.transformer_engine = true;
  job.stack.framework = Framework::torch_fsdp2;
  CHECK(make_device(job).gemm[Math::fp32].rate_tflops == doctest::Approx(1687 * 0.04));
}
