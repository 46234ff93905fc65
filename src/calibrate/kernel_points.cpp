// SPDX-License-Identifier: Apache-2.0
#include "calibrate/kernel_points.hpp"

#include <algorithm>
#include <filesystem>

#include "shardfit/base/error.hpp"

namespace shardfit::calibrate {
namespace {

using validation::PointTable;
using Line = validation::PointRow;

constexpr double kSmallest = 256;  ///< of m, n and k: below it launches rule
constexpr double kShortestSequence = 1024;
constexpr double kMicro = 1e-6;

/// The lines of a table that has `columns`. Throws InputError naming the first one that is missing.
std::vector<Line> lines_of(const PointTable& table, std::initializer_list<const char*> columns) {
  for (const char* column : columns)
    if (!table.has(column))
      throw InputError(table.file, "line 1", "no column \"" + std::string(column) + "\"", "a table of measured kernels");
  std::vector<Line> lines;
  for (const PointTable::Line& line : table.lines) lines.emplace_back(table, line);
  return lines;
}

void read_gemm(const PointTable& table, std::vector<KernelPoint>& points) {
  for (const Line& line : lines_of(table, {"system", "dtype", "best", "m", "n", "k", "kernel_us", "time_us", "cast_in_time"})) {
    const auto math = parse_name<Math>(line.text("dtype"));
    if (!math || line.text("best") != "1") continue;
    KernelPoint p{.system = line.text("system")};
    p.kernel.kind = block::KernelKind::gemm;
    p.kernel.math = *math;
    p.kernel.m = line.number("m"), p.kernel.n = line.number("n"), p.kernel.k = line.number("k");
    if (std::min({p.kernel.m, p.kernel.n, p.kernel.k}) < kSmallest) continue;
    const bool apart = !line.text("kernel_us").empty();  // per-tensor fp8: the table takes the cast off
    if (!apart && *math == Math::fp8) continue;
    p.seconds = line.number(apart ? "kernel_us" : "time_us") * kMicro;
    if (!apart && line.text("cast_in_time") != "none") p.cast_elements = p.kernel.m * p.kernel.k;
    points.push_back(std::move(p));
  }
}

void read_grouped(const PointTable& table, std::vector<KernelPoint>& points) {
  for (const Line& line : lines_of(table, {"system", "dtype", "groups", "m_per_group", "n", "k", "pass", "time_us"})) {
    const auto math = parse_name<Math>(line.text("dtype"));
    if (!math) continue;
    KernelPoint p{.system = line.text("system")};
    p.kernel.kind = block::KernelKind::grouped_gemm;
    p.kernel.math = *math;
    p.kernel.groups = line.number("groups");
    p.kernel.m = line.number("m_per_group");
    const double n = line.number("n"), k = line.number("k");
    const std::string& pass = line.text("pass");
    p.kernel.pass = pass == "wgrad" ? block::Pass::wgrad : pass == "dgrad" ? block::Pass::dgrad : block::Pass::forward;
    p.kernel.n = p.kernel.pass == block::Pass::dgrad ? k : n;
    p.kernel.k = p.kernel.pass == block::Pass::dgrad ? n : k;
    constexpr double kFp32 = 4;
    if (p.kernel.pass == block::Pass::wgrad) p.kernel.out_bytes = p.kernel.accumulate_bytes = kFp32;
    p.seconds = line.number("time_us") * kMicro;
    points.push_back(std::move(p));
  }
}

KernelPoint attention_point(const Line& line, double qk, double v, int head_dim) {
  KernelPoint p{.system = line.text("system")};
  const double sequence = line.number("seq"), heads = line.number("heads"), batch = line.number("batch");
  p.kernel.kind = block::KernelKind::attention;
  p.kernel.head_dim = head_dim;
  p.kernel.m = p.kernel.effective_sequence = sequence;
  p.kernel.groups = heads * batch;
  p.kernel.flops = heads * batch * (qk + v) * sequence * sequence;  // the causal half of 2 (qk + v) s^2
  p.seconds = line.number("time_us") * kMicro;
  return p;
}

void read_attention(const PointTable& table, std::vector<KernelPoint>& points) {
  for (const Line& line :
       lines_of(table, {"system", "dtype", "causal", "window", "head_dim", "seq", "heads", "batch", "time_us"})) {
    if (line.text("dtype") != "bf16" || line.text("causal") != "1" || line.text("window") != "0") continue;
    const double d = line.number("head_dim");
    if (line.number("seq") < kShortestSequence) continue;
    points.push_back(attention_point(line, d, d, int(d)));
  }
}

void read_mla(const PointTable& table, std::vector<KernelPoint>& points) {
  for (const Line& line : lines_of(table, {"system", "kv_cache_dtype", "causal", "run", "seq", "heads", "batch", "qk_head_dim",
                                           "v_head_dim", "time_us"})) {
    if (line.text("kv_cache_dtype") != "bf16" || line.text("causal") != "1" || line.text("run") != "burst") continue;
    if (line.number("seq") < kShortestSequence) continue;
    points.push_back(attention_point(line, line.number("qk_head_dim"), line.number("v_head_dim"), 0));
  }
}

}  // namespace

KernelPoints kernel_points(const std::vector<PointTable>& tables) {
  KernelPoints points;
  for (const PointTable& table : tables) {
    const std::string name = std::filesystem::path(table.file).stem().string();
    if (name == "gemm") read_gemm(table, points.gemm);
    if (name == "grouped_gemm_train") read_grouped(table, points.grouped);
    if (name == "attention_prefill") read_attention(table, points.attention);
    if (name == "mla_prefill") read_mla(table, points.attention);
  }
  return points;
}

}  // namespace shardfit::calibrate
