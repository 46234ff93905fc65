// SPDX-License-Identifier: Apache-2.0
// Computes:   predictions for tables of expert-parallel libraries: one dispatch and one combine a row, in us or as the
//             libraries' own bandwidth.
// Formula:    comm::dispatch_time of `tokens_per_rank` tokens of `hidden`, top `topk` of `experts`, on `ranks` consecutive
//             ranks. time = bytes / bandwidth, bytes as the libraries count them: a token once a rank that gets it inside
//             an NVLink domain, once a domain across, the own one included. HybridEP through torch copies rows between its
//             buffers and tensors: 2 * rows received / memory bandwidth more, which the step model counts as permutation.
//             Links' shares are those of the kernels alone (comm/expert_library.hpp); a step's come from step times.
// Source:     DeepEP tests/test_intranode.py, test_internode.py and its hybrid-ep branch count bytes so.
// Valid when: kernels that training uses. Low-latency kernels, which inference decodes with, have no prediction.
// Checked by: tests/validation/points_test.cpp.
#include <fmt/format.h>

#include "comm/expert_library.hpp"
#include "comm/expert_volume.hpp"
#include "comm/traffic_time.hpp"
#include "compute/device.hpp"
#include "shardfit/spec/scenario.hpp"
#include "topology/cluster.hpp"
#include "validation/points.hpp"

namespace shardfit::validation {
namespace {

using block::CollectiveKind;

constexpr double kBf16 = 2;
constexpr double kFp8 = 1 + 4.0 / 128;     // a fp32 scale for 128 elements
constexpr double kNvfp4 = 0.5 + 1.0 / 16;  // an fp8 scale for 16 elements

struct Library {
  std::string name, why_not;
  Dispatcher dispatcher = Dispatcher::deepep;
  int deepep_version = 1;
};

Library library_of(const PointRow& row) {
  const std::string &name = row.text("library"), &mode = row.text("mode");
  if (mode == "low_latency") return {name, "low-latency kernels serve inference"};
  if (name.starts_with("DeepEP-1")) return {"DeepEP 1", "", Dispatcher::deepep};
  if (name.starts_with("DeepEP-2")) return {"DeepEP 2", "", Dispatcher::deepep, 2};
  if (name == "HybridEP") return {name, "", Dispatcher::hybridep};
  return {name, "no dispatcher of Megatron-Core uses " + name};
}

double width_of(const std::string& dtype) { return dtype == "fp8" ? kFp8 : dtype == "nvfp4" ? kNvfp4 : kBf16; }

block::Traffic call_of(const PointRow& row, CollectiveKind kind, const std::string& dtype) {
  block::Traffic t;
  t.kind = kind;
  t.group = block::Group::tp_ep;
  t.tokens = row.number("tokens_per_rank", 1);
  t.width_bytes = row.number("hidden", 1) * width_of(dtype);
  t.top_k = int(row.number("topk", 1));
  t.num_experts = int(row.number("experts", 1));
  return t;
}

double counted_bytes(const block::Traffic& t, const topology::GroupLinks& links) {
  const double copies = links.domains > 1 ? comm::expected_domains_hit(t, links) : comm::expected_ranks_hit(t, links);
  return t.tokens * t.width_bytes * copies;
}

/// Copies between the library's buffers and torch tensors, us.
double copy_us(const block::Traffic& t, int ranks, const PointContext& context, const HardwareSpec& hardware) {
  Job job;
  job.hardware = hardware;
  job.time = context.time;
  const double rows = t.tokens * block::expected_parts_hit(ranks, t.num_experts, t.top_k);
  return 2 * rows * t.width_bytes / compute::make_device(job).memory_bandwidth * 1e6;
}

std::optional<double> measured_us(const PointRow& row, const char* time, const char* rate, double bytes) {
  if (const auto us = row.maybe_number(time)) return us;
  if (const auto gb_per_s = row.maybe_number(rate)) return bytes / (*gb_per_s * 1e3);
  return std::nullopt;
}

}  // namespace

void score_dispatch(const PointRow& row, const PointContext& context, PointScores& out) {
  const Library library = library_of(row);
  const HardwareSpec* hardware = context.system(row.text("system"));
  if (!library.why_not.empty() || !hardware) {
    ++out.left_out[hardware ? library.why_not : "no cluster for " + row.text("system")];
    return;
  }
  const int ranks = int(row.number("ranks", 1));
  const int sms = int(row.maybe_number("sms").value_or(0));
  const topology::GroupLinks links = topology::Cluster(*hardware, ranks).links({ranks, 1});
  comm::Network network = comm::make_network(context.time, *hardware, library.dispatcher, sms);
  network.deepep_version = library.deepep_version;
  network.dispatch_nvlink = comm::kernel_nvlink_share(ranks);  // the points are kernels alone
  network.dispatch_network = comm::kKernelNetworkShare;
  const bool copies = library.dispatcher == Dispatcher::hybridep && row.text("mode") == "torch_api";
  const auto add = [&](const char* direction, const block::Traffic& call, const char* time, const char* rate) {
    const auto measured = measured_us(row, time, rate, counted_bytes(call, links));
    if (!measured) return;
    PointScore s;
    s.family = fmt::format("{} {}, {} ranks", library.name, row.text("mode"), ranks);
    s.group = fmt::format("{} {} on {}, {} ranks, {}", library.name, row.text("mode"), row.text("system"), ranks, direction);
    s.point = fmt::format("{:g} tokens of {} {}, top {} of {}, {} SMs", call.tokens, row.text("hidden"),
                          row.text("dispatch_dtype"), call.top_k, call.num_experts, sms);
    s.measured_us = *measured;
    s.predicted_us = comm::dispatch_time(call, links, network) * 1e6;
    if (copies) s.predicted_us += copy_us(call, ranks, context, *hardware);
    out.scores.push_back(std::move(s));
  };
  add("dispatch", call_of(row, CollectiveKind::dispatch, row.text("dispatch_dtype")), "dispatch_us", "dispatch_gbps");
  add("combine", call_of(row, CollectiveKind::combine, "bf16"), "combine_us", "combine_gbps");
}

}  // namespace shardfit::validation
