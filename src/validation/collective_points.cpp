// SPDX-License-Identifier: Apache-2.0
// Computes:   predictions for tables of nccl-tests: system, op, gpus, bytes, and time_us or busbw_gbps.
// Formula:    comm::collective_time on the links that `gpus` consecutive ranks of the cluster see; `gpus_per_domain`, if
//             given, says how many of an NVLink domain they use, `sharp` whether the network's switches reduced. time =
//             factor * bytes / busbw, factor 2(n-1)/n for all-reduce, (n-1)/n for gather, scatter and all-to-all, 1 for
//             broadcast and send.
// Source:     nccl-tests doc/PERFORMANCE.md.
// Checked by: tests/validation/points_test.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "comm/traffic_time.hpp"
#include "shardfit/base/error.hpp"
#include "topology/cluster.hpp"
#include "validation/points.hpp"

namespace shardfit::validation {
namespace {

using block::CollectiveKind;

constexpr double kLarge = 1e6;  // bytes; smaller messages have a limit of their own

std::optional<CollectiveKind> kind_of(const std::string& op) {
  if (op == "alltoall") return CollectiveKind::all_to_all;
  if (op == "sendrecv") return CollectiveKind::send_recv;
  for (std::size_t k = 0; k < std::size_t(CollectiveKind::dispatch); ++k)
    if (op == name_of(CollectiveKind(k))) return CollectiveKind(k);
  return std::nullopt;
}

double bus_factor(CollectiveKind kind, double ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * (ranks - 1) / ranks;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv: return 1;
    default: return (ranks - 1) / ranks;
  }
}

topology::GroupLinks links_of(const PointRow& row, HardwareSpec hardware, int gpus) {
  if (const auto used = row.maybe_number("gpus_per_domain")) hardware.fabric.placed_per_domain = int(*used);
  return topology::Cluster(hardware, gpus).links({gpus, 1});
}

std::string size_text(double bytes) {
  return bytes >= kGiB   ? fmt::format("{:g} GiB", bytes / kGiB)
         : bytes >= kMiB ? fmt::format("{:g} MiB", bytes / kMiB)
                         : fmt::format("{:g} KiB", bytes / 1024);
}

}  // namespace

void score_collective(const PointRow& row, const PointContext& context, PointScores& out) {
  const HardwareSpec* hardware = context.system(row.text("system"));
  const auto kind = kind_of(row.text("op"));
  if (!hardware || !kind) {
    ++out.left_out[hardware ? "no formula for " + row.text("op") : "no cluster for " + row.text("system")];
    return;
  }
  const int gpus = int(row.number("gpus", 1));
  const double bytes = row.number("bytes", 1);
  const topology::GroupLinks links = links_of(row, *hardware, gpus);
  comm::Network network;
  network.generation = hardware->gpu.generation;
  network.sharp = row.maybe_number("sharp").value_or(0) > 0;
  PointScore s;
  const bool across = links.domains > 1, large = bytes >= kLarge;
  s.family = across  ? "collectives across NVLink domains"
             : large ? "collectives in a domain, 1 MB and more"
                     : "collectives in a domain, below 1 MB";
  s.group = fmt::format("{} {} of {}{}", row.text("system"), name_of(*kind), gpus, across || large ? "" : ", small");
  if (!row.text("version").empty()) s.group += ", NCCL " + row.text("version");
  s.point = size_text(bytes);
  const auto measured = row.maybe_number("time_us");
  s.measured_us = measured ? *measured : bus_factor(*kind, gpus) * bytes / (row.number("busbw_gbps", 1e-9) * 1e3);
  s.predicted_us = comm::collective_time(*kind, bytes, links, network) * 1e6;
  out.scores.push_back(std::move(s));
}

}  // namespace shardfit::validation
