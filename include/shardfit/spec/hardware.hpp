// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shardfit/base/units.hpp"
#include "shardfit/spec/precision.hpp"

namespace shardfit {

/// How a figure came to be known.
enum class FigureKind { datasheet, measured, fitted, assumed, count };
template <>
inline constexpr NameList<FigureKind> kNames<FigureKind> = {"datasheet", "measured", "fitted", "assumed"};

/// A hardware figure with its provenance. Formulas read `value`; reports print the rest.
struct Figure {
  double value = 0;
  FigureKind kind = FigureKind::assumed;
  std::string source;
};

/// Burst GEMM time: t0 + |(FLOP/rate * (1 + wave*(waves-1)) * (1 + k_half/k), bytes/(0.85 HBM))|_3. Fitted to kernel
/// tables; `error_median`/`error_p90` say how well, in percent.
struct GemmCurve {
  double rate_tflops = 0, launch_us = 0, k_half = 0, wave = 0;
  double error_median = 0, error_p90 = 0;
};

/// Burst attention forward time: t0 + FLOP/rate * (1 + seq_half/s); FLOP counted causal (halved).
struct AttentionCurve {
  int head_dim = 0;  ///< 0: MLA
  double rate_tflops = 0, seq_half = 0;
  double error_median = 0, error_p90 = 0;
};

enum class HostCpu { x86, grace, count };
template <>
inline constexpr NameList<HostCpu> kNames<HostCpu> = {"x86", "grace"};

enum class GpuGeneration { ampere, hopper, blackwell, count };
template <>
inline constexpr NameList<GpuGeneration> kNames<GpuGeneration> = {"ampere", "hopper", "blackwell"};

struct GpuSpec {
  std::string name;
  GpuGeneration generation = GpuGeneration::hopper;
  EnumArray<Math, Figure> peak_tflops;  ///< dense; 0: not supported
  Figure sm_count;
  Figure memory_nominal_gb;  ///< 1e9 bytes, as labelled
  Figure memory_usable_gib;  ///< what torch reports as total
  Figure hbm_tb_per_s;
  Figure power_w;
  EnumArray<Math, GemmCurve> gemm;        ///< rate 0: no curve for that kind
  std::vector<AttentionCurve> attention;  ///< by head dim, and MLA
  Figure fp8_attention_speedup;           ///< rate factor of FP8 attention
  Figure sustained_factor;                ///< sustained over burst tensor rate
  std::string curves_source;
};

struct NodeSpec {
  int gpus = 8;  ///< GPUs of one OS node
  HostCpu cpu = HostCpu::x86;
  Figure host_link_gb_per_s;  ///< per GPU and direction, GPU to host memory
  Figure host_memory_gib;     ///< per node
  Figure host_speed{1, FigureKind::assumed,
                    "as that of DGX H100 (Xeon 8480C), to which the shared coefficients refer"};  ///< of Python and launches
};

/// The NVSwitch chips of an NVLink domain. Each is a plane: every GPU has links to it, and a message is spread over all.
struct NvswitchPlanes {
  std::vector<int> links;  ///< of a GPU to each plane; empty: not known, one switch stands for all
  int failed = 0;          ///< planes out of service, the widest ones; the others carry what is left
  FigureKind kind = FigureKind::assumed;
  std::string source;
};

/// A third switch tier: scalable units in pods, whose spines meet in core switches. Without one (no units a pod) the
/// spines join all units.
struct CoreTier {
  int units_per_pod = 0, switches = 0;
  Figure oversubscription{1, FigureKind::assumed, "no third tier"};  ///< downlinks over uplinks of a spine
};

struct FabricSpec {
  int nvlink_domain_gpus = 8;  ///< GPUs that share NVSwitches
  int placed_per_domain = 8;   ///< GPUs of a domain that a job usually gets (64 of 72)
  Figure nvlink_gb_per_s;      ///< per GPU and direction, over all planes
  NvswitchPlanes nvswitch;
  Figure nvlink_latency_us;
  Figure nic_gb_per_s;           ///< per GPU and direction
  Figure nic_alltoall_gb_per_s;  ///< what all-to-all gets of a NIC
  Figure nic_dispatch_gb_per_s;  ///< what the exchange of expert tokens gets of it; 0: as all-to-all
  Figure nic_latency_us;
  int leaf_ports_down = 32, spines = 8;  ///< rail-optimised leaf/spine
  int nodes_per_leaf_group = 32;         ///< nodes whose rails meet in one leaf a rail (a scalable unit)
  int spare_nodes_per_leaf_group = 0;    ///< of these, kept for repairs: they hold no rank
  Figure oversubscription;               ///< uplink: 1 = none
  CoreTier core;
  bool sharp = false;  ///< switches that reduce (StackProfile::use_sharp asks for it)
};

struct PriceSpec {
  Figure usd_per_gpu_hour;
  Figure all_in_power_w;
};

struct HardwareSpec {
  std::string name;  ///< "gb200-nvl72"
  GpuSpec gpu;
  NodeSpec node;
  FabricSpec fabric;
  PriceSpec price;
  Figure context_gib;  ///< CUDA context and libraries outside torch
  Figure nccl_gib_per_communicator;
  Figure nvls_gib;        ///< NVLS buffers of one communicator that uses them
  Figure step_time_band;  ///< one sigma of step times of known blocks after a site's calibration; 0: none
  std::string source_file;
};

}  // namespace shardfit
