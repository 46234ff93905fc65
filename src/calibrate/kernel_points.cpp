// SPDX-License-Identifier: Apache-2.0
#include "calibrate/kernel_points.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <map>

#include "shardfit/base/error.hpp"

namespace shardfit::calibrate {
namespace {

constexpr double kSmallest = 256;    ///< of m, n and k: below it launches rule
constexpr double kShortestSequence = 1024;
constexpr double kMicro = 1e-6;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') cells.emplace_back();
    else if (c != '\r') cells.back() += c;
  }
  return cells;
}

/// One line of a table, by column name.
class Line {
 public:
  Line(const std::string& file, const std::map<std::string, std::size_t>& columns, const std::vector<std::string>& cells,
       std::size_t number)
      : file_(file), columns_(columns), cells_(cells), number_(number) {}

  const std::string& text(const std::string& column) const {
    const auto at = columns_.find(column);
    if (at == columns_.end()) throw InputError(file_, "line 1", "no column \"" + column + "\"", "a table of measured kernels");
    static const std::string kNothing;
    return at->second < cells_.size() ? cells_[at->second] : kNothing;
  }
  double number(const std::string& column) const {
    const std::string& cell = text(column);
    double value = 0;
    const auto end = cell.data() + cell.size();
    if (std::from_chars(cell.data(), end, value).ptr != end || cell.empty())
      throw InputError(file_, "line " + std::to_string(number_), "\"" + cell + "\" under " + column, "a number");
    return value;
  }

 private:
  const std::string& file_;
  const std::map<std::string, std::size_t>& columns_;
  const std::vector<std::string>& cells_;
  std::size_t number_;
};

/// Calls f(line) for every line; whether the table is there.
bool each_line(const std::string& file, const std::function<void(const Line&)>& f) {
  std::ifstream in(file);
  if (!in) return false;
  std::string text;
  std::map<std::string, std::size_t> columns;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    const std::vector<std::string> cells = cells_of(text);
    if (number == 1)
      for (std::size_t i = 0; i < cells.size(); ++i) columns[cells[i]] = i;
    else f(Line(file, columns, cells, number));
  }
  return true;
}

bool read_gemm(const std::string& file, std::vector<KernelPoint>& points) {
  return each_line(file, [&points](const Line& line) {
    const auto math = parse_name<Math>(line.text("dtype"));
    if (!math || line.text("best") != "1") return;
    KernelPoint p{.system = line.text("system")};
    p.kernel.kind = block::KernelKind::gemm;
    p.kernel.math = *math;
    p.kernel.m = line.number("m"), p.kernel.n = line.number("n"), p.kernel.k = line.number("k");
    if (std::min({p.kernel.m, p.kernel.n, p.kernel.k}) < kSmallest) return;
    const bool apart = !line.text("kernel_us").empty();   // per-tensor fp8: the table takes the cast off
    if (!apart && *math == Math::fp8) return;
    p.seconds = line.number(apart ? "kernel_us" : "time_us") * kMicro;
    if (!apart && line.text("cast_in_time") != "none") p.cast_elements = p.kernel.m * p.kernel.k;
    points.push_back(std::move(p));
  });
}

bool read_grouped(const std::string& file, std::vector<KernelPoint>& points) {
  return each_line(file, [&points](const Line& line) {
    const auto math = parse_name<Math>(line.text("dtype"));
    if (!math) return;
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
  });
}

KernelPoint attention_point(const Line& line, double qk, double v, int head_dim) {
  KernelPoint p{.system = line.text("system")};
  const double sequence = line.number("seq"), heads = line.number("heads"), batch = line.number("batch");
  p.kernel.kind = block::KernelKind::attention;
  p.kernel.head_dim = head_dim;
  p.kernel.m = p.kernel.effective_sequence = sequence;
  p.kernel.groups = heads * batch;
  p.kernel.flops = heads * batch * (qk + v) * sequence * sequence;   // the causal half of 2 (qk + v) s^2
  p.seconds = line.number("time_us") * kMicro;
  return p;
}

bool read_attention(const std::string& file, std::vector<KernelPoint>& points) {
  return each_line(file, [&points](const Line& line) {
    if (line.text("dtype") != "bf16" || line.text("causal") != "1" || line.text("window") != "0") return;
    const double d = line.number("head_dim");
    if (line.number("seq") < kShortestSequence) return;
    points.push_back(attention_point(line, d, d, int(d)));
  });
}

bool read_mla(const std::string& file, std::vector<KernelPoint>& points) {
  return each_line(file, [&points](const Line& line) {
    if (line.text("kv_cache_dtype") != "bf16" || line.text("causal") != "1" || line.text("run") != "burst") return;
    if (line.number("seq") < kShortestSequence) return;
    points.push_back(attention_point(line, line.number("qk_head_dim"), line.number("v_head_dim"), 0));
  });
}

}  // namespace

KernelPoints load_kernel_points(const std::string& folder) {
  KernelPoints points;
  bool any = read_gemm(folder + "/gemm.csv", points.gemm);
  any |= read_grouped(folder + "/grouped_gemm_train.csv", points.grouped);
  any |= read_attention(folder + "/attention_prefill.csv", points.attention);
  any |= read_mla(folder + "/mla_prefill.csv", points.attention);
  if (!any)
    throw InputError("", "--kernels", folder, "a folder with tables of measured kernels",
                     "gemm.csv, grouped_gemm_train.csv, attention_prefill.csv or mla_prefill.csv");
  return points;
}

}  // namespace shardfit::calibrate
