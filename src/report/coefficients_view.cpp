// SPDX-License-Identifier: Apache-2.0
#include "report/coefficients_view.hpp"

#include <fmt/format.h>

#include <string_view>

namespace shardfit {
namespace {

// Numbers of a curve: rate, launch, k_half, wave of a GEMM; rate and seq_half of an attention curve.
constexpr int kGemmCurve = 4, kAttentionCurve = 2;

Table shared_table(const TimeCoefficients& time) {
  const auto number = [](const char* key, const char* title) { return Column{key, title, ColumnKind::number, 3}; };
  Table table{.columns = {{"name", "name"},
                          number("value", "value"),
                          number("standard_error", "s.e."),
                          number("low", "low"),
                          number("high", "high"),
                          {"meaning", "meaning"}}};
  for (std::size_t i = 0; i < kCount<Coefficient>; ++i) {
    const FittedValue& v = time.values[Coefficient(i)];
    table.rows.push_back(
        {{text_cell(name_of(Coefficient(i))), v.value, v.standard_error, v.low, v.high, text_cell(v.meaning)}});
  }
  return table;
}

struct NamedFigure {
  const char* name;
  const Figure& figure;
};

Table figures_table(const std::vector<HardwareSpec>& clusters) {
  Table table{.columns = {{"figure", "figure"},
                          {"hardware", "hardware"},
                          {"value", "value", ColumnKind::number, 3},
                          {"kind", "kind"},
                          {"source", "source"}}};
  for (const HardwareSpec& h : clusters)
    for (const NamedFigure& f : {NamedFigure{"sustained_factor", h.gpu.sustained_factor},
                                 {"fp8_attention_speedup", h.gpu.fp8_attention_speedup},
                                 {"nic_alltoall_gb_per_s", h.fabric.nic_alltoall_gb_per_s},
                                 {"nic_dispatch_gb_per_s", h.fabric.nic_dispatch_gb_per_s},
                                 {"sm_count", h.gpu.sm_count},
                                 {"host_link_gb_per_s", h.node.host_link_gb_per_s},
                                 {"oversubscription", h.fabric.oversubscription}})
      if (!f.figure.source.empty() && (f.figure.kind == FigureKind::fitted || f.figure.kind == FigureKind::assumed))
        table.rows.push_back({{text_cell(f.name), text_cell(h.name), f.figure.value, text_cell(name_of(f.figure.kind)),
                               text_cell(f.figure.source)}});
  return table;
}

Row curve_row(const HardwareSpec& h, std::string_view family, int numbers, double median, double p90) {
  return {{text_cell(h.name), text_cell(family), count_cell(numbers), median, p90}};
}

Table curves_table(const std::vector<HardwareSpec>& clusters) {
  Table table{.columns = {{"hardware", "hardware"},
                          {"family", "family"},
                          {"numbers", "numbers", ColumnKind::count},
                          {"error_median", "median %", ColumnKind::number, 1},
                          {"error_p90", "p90 %", ColumnKind::number, 1}}};
  for (const HardwareSpec& h : clusters) {
    for (std::size_t m = 0; m < kCount<Math>; ++m)
      if (const GemmCurve& c = h.gpu.gemm[Math(m)]; c.rate_tflops > 0)
        table.rows.push_back(curve_row(h, fmt::format("gemm {}", name_of(Math(m))), kGemmCurve, c.error_median, c.error_p90));
    for (const AttentionCurve& a : h.gpu.attention)
      table.rows.push_back(curve_row(h, a.head_dim ? fmt::format("attention {}", a.head_dim) : "attention MLA", kAttentionCurve,
                                     a.error_median, a.error_p90));
  }
  return table;
}

}  // namespace

Document coefficients_document(const TimeCoefficients& time, const std::vector<HardwareSpec>& clusters) {
  Document document{.view = "list", .title = "Fitted and assumed numbers of the step-time model that ship as data"};
  document.sections.push_back(
      {"shared",
       "Shared coefficients of step time (hardware/step-time.json)",
       shared_table(time),
       {time.fit_quality, "low, high: plausible range, from fits without one model and the standard error"}});
  document.sections.push_back({"figures",
                               "Fitted and assumed figures of clusters that step times use (hardware/NAME.json)",
                               figures_table(clusters),
                               {}});
  document.sections.push_back({"curves",
                               "Kernel curves (hardware/NAME.json)",
                               curves_table(clusters),
                               {"errors against the kernel tables that each curve was fitted to, %"}});
  return document;
}

}  // namespace shardfit
