// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardfit::cli {
namespace {

using calibrate::ErrorStats;

std::vector<Column> with_stats(std::vector<Column> columns, const std::string& when) {
  columns.push_back({"median_" + when, "median " + when, ColumnKind::ratio, 1});
  columns.push_back({"p90_" + when, "p90", ColumnKind::ratio, 1});
  columns.push_back({"max_" + when, "max", ColumnKind::ratio, 1});
  columns.push_back({"bias_" + when, "bias", ColumnKind::ratio, 1});
  return columns;
}

void add_stats(Row& row, const ErrorStats& s) {
  for (const double value : {s.median, s.p90, s.max, s.bias}) row.cells.emplace_back(value);
}

Section left_out_runs(const std::vector<std::string>& left_out) {
  Table table{.columns = {{"run", "run and reason"}}};
  for (const std::string& text : left_out) table.rows.push_back({{text_cell(text)}});
  return {"runs_left_out", "Runs that say nothing about step time", std::move(table), {}};
}

Section overall(const calibrate::SharedFit& fit) {
  Table table{.columns = with_stats({{"fit", "fit"}, {"rows", "rows", ColumnKind::count}}, "error")};
  const auto add = [&table](const char* name, const ErrorStats& s) {
    if (s.rows == 0) return;
    Row row{{text_cell(name), count_cell(s.rows)}};
    add_stats(row, s);
    table.rows.push_back(std::move(row));
  };
  add("before", fit.before);
  add("after", fit.after);
  add("fit to three quarters: those", fit.held_in);
  add("fit to three quarters: the other quarter", fit.held_out);
  for (const calibrate::LeftOut& l : fit.pooled) add(("one left out, pooled: " + l.by).c_str(), l.unseen);
  return {"overall", "Errors of predicted step time", std::move(table), {}};
}

Section coefficients(const calibrate::SharedFit& fit) {
  const auto number = [](const char* key, const char* title) { return Column{key, title, ColumnKind::number, 3}; };
  Table table{.columns = {{"name", "name"},
                          number("before", "before"),
                          number("value", "value"),
                          number("standard_error", "s.e."),
                          number("lowest", "lowest"),
                          number("highest", "highest"),
                          number("expected", "expected"),
                          number("plausible_low", "plausible from"),
                          number("plausible_high", "to")}};
  for (const calibrate::FittedShared& v : fit.variables) {
    const calibrate::Variable& of = v.of.variable;
    table.rows.push_back(
        {{text_cell(of.name), v.before, v.value, v.standard_error, v.lowest, v.highest, of.expected, of.low, of.high}});
  }
  return {"coefficients",
          "Coefficients",
          std::move(table),
          {"lowest, highest: with one model left out at a time. Standard errors include the pull to the expected value."}};
}

Section groups(const calibrate::SharedFit& fit) {
  Table table{.columns = with_stats(with_stats({{"by", "by"}, {"name", "name"}, {"rows", "rows", ColumnKind::count}}, "before"),
                                    "after")};
  for (const calibrate::ErrorGroup& g : fit.groups) {
    Row row{{text_cell(g.by), text_cell(g.name), count_cell(g.after.rows)}};
    add_stats(row, g.before);
    add_stats(row, g.after);
    table.rows.push_back(std::move(row));
  }
  return {"groups", "Errors by kind of run", std::move(table), {}};
}

Section unseen(const calibrate::SharedFit& fit) {
  Table table{.columns = with_stats({{"by", "left out"}, {"name", "name"}, {"rows", "rows", ColumnKind::count}}, "unseen")};
  for (const calibrate::LeftOut& l : fit.left_out) {
    Row row{{text_cell(l.by), text_cell(l.name), count_cell(l.unseen.rows)}};
    add_stats(row, l.unseen);
    table.rows.push_back(std::move(row));
  }
  return {"left_out", "Runs predicted by a fit that has not seen them", std::move(table), {}};
}

}  // namespace

namespace {

std::string percent_off(double error) { return fmt::format("{:.1f} %", 100 * std::abs(error)); }

/// How far the runs are off, in words that fit their number: a median of two is one of them.
std::string site_summary(const calibrate::SiteFit& fit) {
  const std::vector<calibrate::SiteRun>& runs = fit.runs;
  const auto before = [&](std::size_t i) { return percent_off(runs[i].before / runs[i].measured - 1); };
  const auto after = [&](std::size_t i) { return percent_off(runs[i].after / runs[i].measured - 1); };
  std::string text;
  if (runs.size() == 1)
    text = fmt::format("The run is {} off before, {} after", before(0), after(0));
  else if (runs.size() == 2)
    text = fmt::format("The two runs are {} and {} off before, {} and {} after", before(0), before(1), after(0), after(1));
  else
    text = fmt::format("Median error {:.1f} % before, {:.1f} % after, largest {:.1f} %", 100 * fit.before.median,
                       100 * fit.after.median, 100 * fit.after.max);
  return text + fmt::format("; expect layouts like {} within {:.0f} %.", runs.size() == 1 ? "it" : "these", 100 * fit.band);
}

/// Runs with equal inputs whose times no factor can explain together.
std::vector<std::string> contradictions(const std::vector<calibrate::SiteRun>& runs) {
  constexpr double kEqual = 1e-9;
  constexpr double kRepeats = 1.1;  ///< twice what 90 % of published pairs with equal inputs differ by
  std::vector<std::string> found;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const calibrate::SiteRun &a = runs[i], &b = runs[j];
      const auto [low, high] = std::minmax(a.measured, b.measured);
      if (std::abs(a.before / b.before - 1) > kEqual || high < kRepeats * low) continue;
      found.push_back(fmt::format("{} and {} are predicted alike and measured {:.3f} and {:.3f} s: no factor explains both",
                                  a.id, b.id, a.measured, b.measured));
    }
  return found;
}

}  // namespace

Document site_document(const calibrate::SiteFit& fit, const std::vector<std::string>& left_out) {
  Table factors{.columns = {{"factor", "factor"},
                            {"value", "value", ColumnKind::number, 3},
                            {"standard_error", "s.e.", ColumnKind::number, 3}}};
  for (std::size_t i = 0; i < kCount<calibrate::SiteFactor>; ++i) {
    const auto f = calibrate::SiteFactor(i);
    factors.rows.push_back({{text_cell(name_of(f)), fit.factors[f], fit.standard_errors[f]}});
  }
  Table runs{.columns = {{"run", "run"},
                         {"measured", "measured", ColumnKind::seconds},
                         {"before", "before", ColumnKind::seconds},
                         {"after", "after", ColumnKind::seconds},
                         {"error_before", "error before", ColumnKind::ratio, 1},
                         {"error_after", "error after", ColumnKind::ratio, 1}}};
  for (const calibrate::SiteRun& r : fit.runs)
    runs.rows.push_back({{text_cell(r.id), Seconds(r.measured), Seconds(r.before), Seconds(r.after), r.before / r.measured - 1,
                          r.after / r.measured - 1}});
  Document document{.view = "calibrate", .title = "Site factors of " + fit.hardware.name};
  document.sections.push_back({"factors", "Factors on the figures of the hardware file", std::move(factors), {}});
  document.sections.push_back({"runs", "Step time before and after", std::move(runs), {}});
  if (!left_out.empty()) document.sections.push_back(left_out_runs(left_out));
  document.warnings = contradictions(fit.runs);
  document.summary = site_summary(fit);
  return document;
}

Document shared_document(const calibrate::SharedFit& fit, const std::vector<std::string>& left_out) {
  Document document{.view = "calibrate", .title = "Shared coefficients of the step-time model, fitted"};
  document.sections = {overall(fit), coefficients(fit), groups(fit)};
  if (!fit.left_out.empty()) document.sections.push_back(unseen(fit));
  if (!left_out.empty()) document.sections.push_back(left_out_runs(left_out));
  return document;
}

Document kernels_document(const std::vector<calibrate::KernelFit>& fits) {
  Table errors{
      .columns = with_stats(
          with_stats({{"family", "family"}, {"system", "system"}, {"kind", "kind"}, {"points", "points", ColumnKind::count}},
                     "shipped"),
          "refitted")};
  errors.columns.push_back({"within_limits", "within limits", ColumnKind::flag});
  Table curves{.columns = {{"family", "family"},
                           {"system", "system"},
                           {"kind", "kind"},
                           {"value", "value"},
                           {"shipped", "shipped", ColumnKind::number, 2},
                           {"refitted", "refitted", ColumnKind::number, 2}}};
  std::size_t within = 0;
  for (const calibrate::KernelFit& fit : fits) {
    Row row{{text_cell(fit.family), text_cell(fit.system), text_cell(fit.kind), count_cell(fit.shipped.rows)}};
    add_stats(row, fit.shipped);
    add_stats(row, fit.refitted);
    const bool ok = calibrate::within_limits(fit.shipped);
    within += ok;
    row.cells.emplace_back(ok);
    errors.rows.push_back(std::move(row));
    for (const calibrate::CurveValue& v : fit.values)
      curves.rows.push_back(
          {{text_cell(fit.family), text_cell(fit.system), text_cell(fit.kind), text_cell(v.name), v.shipped, v.refitted}});
  }
  Document document;
  document.view = "calibrate";
  document.title = "Kernel curves against measured points";
  document.sections.push_back({"kernels",
                               "Errors of predicted kernel time",
                               std::move(errors),
                               {"limits: median within 8 %, 90 % within 20 %. Burst timings, forward; no sustained factor.",
                                "grouped_gemm: as shipped only; its points are of a power-capped board"}});
  document.sections.push_back({"curves", "Curves", std::move(curves), {}});
  document.summary = fmt::format("{} of {} curves are within their limits as shipped.", within, fits.size());
  return document;
}

}  // namespace shardfit::cli
