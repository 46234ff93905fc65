// SPDX-License-Identifier: Apache-2.0
#include "calibrate/expectations.hpp"

#include <algorithm>

#include "shardfit/spec/model_dims.hpp"

namespace shardfit::calibrate {
namespace {

struct NamedExpectation {
  std::string_view system;
  Expectation expectation;
};

// Sustained runs of one GEMM shape over its burst rate: 0.97 on B200 (fp8), 0.90 to 0.98 on GB200 (fp8), 0.83 to 0.89 in
// bf16 (public clock and power logs, 2025-26). Grace boards have more power a GPU: up to 1400 W on GB300.
constexpr NamedExpectation kSustained[] = {
    {"h100-hgx", {0.88, 0.75, 1.0}},    {"b200-hgx", {0.87, 0.75, 1.0}},    {"b300-hgx", {0.85, 0.75, 1.0}},
    {"gb200-nvl72", {0.87, 0.8, 1.05}}, {"gb300-nvl72", {0.92, 0.8, 1.05}},
};
constexpr Expectation kSustainedElsewhere{0.88, 0.7, 1.05};  // assumed: the mean of those

bool runs_on_generation(const Job& job, Coefficient c) {
  const bool blackwell = job.hardware.gpu.generation == GpuGeneration::blackwell;
  return (c == Coefficient::memory_blackwell) == blackwell;
}

bool has_recurrent_mixer(const TextSpec& text) {
  return std::any_of(text.mixers.begin(), text.mixers.end(), [](const MixerSpec& m) {
    return std::holds_alternative<Mamba2Spec>(m.kind) || std::holds_alternative<GatedDeltaNetSpec>(m.kind);
  });
}

}  // namespace

/// Kinds: m measured, k fitted to kernel timings, a assumed.
Expectation expectation_of(Coefficient c) {
  switch (c) {
    case Coefficient::bf16_rate: return {0.95, 0.8, 1};                   // m: sustained GEMM runs, bf16 against fp8
    case Coefficient::mxfp8_rate: return {0.9, 0.8, 1};                   // a: block scales beside the operands
    case Coefficient::nvfp4_rate: return {1.1, 0.9, 1.4};                 // m: prequantised training GEMMs on B300
    case Coefficient::grouped_gemm_rate: return {0.9, 0.6, 1.1};          // a: unequal groups
    case Coefficient::attention_backward_rate: return {0.75, 0.65, 1.1};  // m: training tables, 0.7 to 0.9
    case Coefficient::memory_hopper: return {0.8, 0.35, 0.9};             // m: element-wise kernels of H100
    case Coefficient::memory_blackwell: return {0.65, 0.35, 0.8};         // m: the same, B200 table (0.67)
    case Coefficient::expert_activation: return {2, 1, 4};          // a: exponentials in fp32, a reduction, lengths that change
    case Coefficient::quantize_bandwidth: return {0.65, 0.4, 0.9};  // k: cast columns of the GEMM tables
    case Coefficient::nvfp4_quantize: return {1.3, 1, 2.5};         // k: the same, nvfp4 over block fp8
    case Coefficient::scan_tflops: return {60, 30, 90};             // a: public kernel benchmarks of SSD
    case Coefficient::host_call_us: return {20, 5, 60};             // a: Python calls of 10 to 50 us each
    case Coefficient::host_launch_us: return {7, 3, 15};            // a: 5 to 8 us a launch through PyTorch
    case Coefficient::kernel_gap_us: return {2, 1, 4};              // m: gaps between kernels in public traces
    case Coefficient::dispatch_nvlink: return {0.6, 0.5, 0.9};      // m: HybridEP and DeepEP microbenchmarks
    case Coefficient::alltoall_rate: return {0.7, 0.6, 1};          // m: NCCL all-to-all against them
    case Coefficient::dispatch_network: return {0.9, 0.8, 1};       // m: 45 to 49 of 50 GB/s
    case Coefficient::expert_overlap_hidden: return {0.7, 0.4, 0.95};  // a
    case Coefficient::permute_left: return {0.7, 0.2, 1};              // a: what HybridEP's kernels do not fuse
    case Coefficient::overlap_slowdown: return {0.25, 0.15, 0.4};      // m: GEMM beside a collective on shared SMs
    case Coefficient::step_overhead_ms: return {60, 20, 120};          // a: launches of the optimizer, logging
    case Coefficient::count: break;
  }
  return {1, 0, 1};
}

Expectation sustained_expectation(const std::string& system) {
  for (const NamedExpectation& e : kSustained)
    if (e.system == system) return e.expectation;
  return kSustainedElsewhere;
}

std::vector<SharedVariable> shared_variables(std::span<const Job* const> jobs) {
  std::vector<SharedVariable> all;
  if (jobs.empty()) return all;
  const auto add = [&all](Coefficient c, const std::string& system, std::string name, double start, Expectation e) {
    all.push_back({c, system, {std::move(name), start, e.expected, e.low, e.high}});
  };
  for (std::size_t i = 0; i < kCount<Coefficient>; ++i) {
    const Coefficient c = Coefficient(i);
    add(c, "", std::string(name_of(c)), jobs.front()->time[c], expectation_of(c));
  }
  for (const Job* job : jobs) {
    const HardwareSpec& h = job->hardware;
    if (std::any_of(all.begin(), all.end(), [&](const SharedVariable& v) { return v.system == h.name; })) continue;
    add(Coefficient::count, h.name, "sustained_factor " + h.name, h.gpu.sustained_factor.value, sustained_expectation(h.name));
  }
  return all;
}

bool depends(const Job& job, const SharedVariable& v) {
  if (v.is_sustained()) return v.system == job.hardware.name;
  const Precision precision = job.training.precision;
  switch (v.coefficient) {
    case Coefficient::mxfp8_rate: return precision == Precision::mxfp8;
    case Coefficient::nvfp4_rate:
    case Coefficient::nvfp4_quantize: return precision == Precision::nvfp4;
    case Coefficient::quantize_bandwidth: return is_quantized(precision);
    case Coefficient::memory_hopper:
    case Coefficient::memory_blackwell: return runs_on_generation(job, v.coefficient);
    case Coefficient::scan_tflops: return has_recurrent_mixer(job.model.text);
    case Coefficient::grouped_gemm_rate:
    case Coefficient::expert_activation:
    case Coefficient::dispatch_nvlink:
    case Coefficient::alltoall_rate:
    case Coefficient::dispatch_network:
    case Coefficient::expert_overlap_hidden:
    case Coefficient::permute_left: return has_moe(job.model.text);
    default: return true;
  }
}

}  // namespace shardfit::calibrate
