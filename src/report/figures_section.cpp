// SPDX-License-Identifier: Apache-2.0
#include "report/figures_section.hpp"

#include <fmt/format.h>

namespace shardfit::report {

Section figures_section(const HardwareSpec& hardware) {
  Table table;
  table.columns = {{"value", "value", ColumnKind::number, 2},
                   {"unit", "unit"},
                   {"figure", "figure"},
                   {"kind", "kind"},
                   {"source", "source"}};
  const auto add = [&table](const char* name, const char* unit, const Figure& figure) {
    table.rows.push_back({{figure.value, text_cell(unit), text_cell(name), text_cell(name_of(figure.kind)),
                           figure.source.empty() ? Cell() : Cell(figure.source)},
                          RowKind::data,
                          0});
  };
  const GpuSpec& gpu = hardware.gpu;
  for (std::size_t i = 0; i < kCount<Math>; ++i) {
    const Figure& figure = gpu.peak_tflops[Math(i)];
    if (figure.value > 0) add(("peak " + std::string(name_of(Math(i)))).c_str(), "TFLOP/s", figure);
  }
  add("SMs", "", gpu.sm_count);
  add("memory, nominal", "GB", gpu.memory_nominal_gb);
  add("memory, usable", "GiB", gpu.memory_usable_gib);
  add("HBM bandwidth", "TB/s", gpu.hbm_tb_per_s);
  add("power", "W", gpu.power_w);
  add("sustained over burst rate", "", gpu.sustained_factor);
  add("host link", "GB/s", hardware.node.host_link_gb_per_s);
  add("host memory of a node", "GiB", hardware.node.host_memory_gib);
  const FabricSpec& fabric = hardware.fabric;
  add("NVLink", "GB/s", fabric.nvlink_gb_per_s);
  if (!fabric.nvswitch.links.empty())
    add("NVSwitch planes of a domain", "",
        {double(fabric.nvswitch.links.size()), fabric.nvswitch.kind, fabric.nvswitch.source});
  add("NVLink latency", "us", fabric.nvlink_latency_us);
  add("NIC", "GB/s", fabric.nic_gb_per_s);
  add("NIC, all-to-all", "GB/s", fabric.nic_alltoall_gb_per_s);
  if (fabric.nic_dispatch_gb_per_s.value > 0) add("NIC, expert tokens", "GB/s", fabric.nic_dispatch_gb_per_s);
  add("NIC latency", "us", fabric.nic_latency_us);
  add("oversubscription", "", fabric.oversubscription);
  if (fabric.core.units_per_pod > 0) add("oversubscription of the core", "", fabric.core.oversubscription);
  add("CUDA context", "GiB", hardware.context_gib);
  add("NCCL a communicator", "GiB", hardware.nccl_gib_per_communicator);
  add("NVLS buffers", "GiB", hardware.nvls_gib);
  if (hardware.step_time_band.value > 0) add("one sigma of step time", "", hardware.step_time_band);
  add("price", "USD/GPU/h", hardware.price.usd_per_gpu_hour);
  return {"figures", "Figures of " + hardware.name + ", with their sources", std::move(table), {}};
}

}  // namespace shardfit::report
