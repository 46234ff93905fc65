// SPDX-License-Identifier: Apache-2.0
#include "report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/estimate_sections.hpp"
#include "report/numbers.hpp"

namespace shardfit::report {
namespace {

constexpr std::size_t kTermsNamed = 3;  // enough to act on, few enough for one line

/// "experts 31 %, gemm 22 %, pipeline_bubble 12 %".
std::string largest_time_terms(const Estimate& estimate) {
  struct Item {
    TimeTerm term;
    Seconds time;
  };
  std::vector<Item> items;
  for (std::size_t i = 0; i < kCount<TimeTerm>; ++i)
    if (estimate.time.rows[TimeTerm(i)] > Seconds(0)) items.push_back({TimeTerm(i), estimate.time.rows[TimeTerm(i)]});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.time > b.time; });
  if (items.size() > kTermsNamed) items.resize(kTermsNamed);
  std::string text;
  for (const Item& item : items)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(item.term), percent(item.time / estimate.time.total(), 0));
  return text;
}

}  // namespace

std::string change_text(const Estimate& estimate, const Change& change) {
  std::string gain;
  if (estimate.tokens_per_s_per_gpu > 0) {
    const double ratio = change.quick.tokens_per_s_per_gpu / estimate.tokens_per_s_per_gpu - 1;
    gain = fmt::format(" ({}{})", ratio >= 0 ? "+" : "", percent(ratio));
  }
  return fmt::format("{} {} -> {}: {} tokens/s/GPU{}, peak {}", change.field, change.from, change.to,
                     grouped(change.quick.tokens_per_s_per_gpu, 1), gain, with_unit(change.quick.peak));
}

std::string estimate_summary(const Estimate& estimate, const std::optional<Change>& change) {
  std::string text = verdict_text(estimate.verdict) + ".";
  text += fmt::format(" {} a step", with_unit(Seconds(estimate.step_time_s)));
  const std::string terms = largest_time_terms(estimate);
  if (!terms.empty()) text += ", most of it in " + terms;
  text += ".";
  if (change)
    text += std::string(estimate.verdict.fits ? " Most worth trying: " : " Fits with ") + change_text(estimate, *change) + ".";
  return text;
}

Section change_section(const Estimate& estimate, const Change& change) {
  Facts facts;
  facts.push_back({{"field", "field"}, text_cell(change.field), {}});
  facts.push_back({{"from", "from"}, text_cell(change.from), {}});
  facts.push_back({{"to", "to"}, text_cell(change.to), {}});
  facts.push_back({{"fits", "fits", ColumnKind::flag}, change.quick.fits, {}});
  facts.push_back({{"step_time", "step time", ColumnKind::seconds}, Seconds(change.quick.step_time_s), {}});
  facts.push_back({{"tokens_per_s_per_gpu", "tokens/s/GPU", ColumnKind::number, 1},
                   change.quick.tokens_per_s_per_gpu,
                   fmt::format("now {}", grouped(estimate.tokens_per_s_per_gpu, 1))});
  facts.push_back(
      {{"peak_memory", "device memory", ColumnKind::bytes}, change.quick.peak, "now " + with_unit(estimate.verdict.need)});
  facts.push_back({{"layout_id", "layout id"}, layout_id(change.layout), {}});
  return {"change",
          estimate.verdict.fits ? "The single change most worth trying" : "The single change that fits and is fastest",
          std::move(facts),
          {}};
}

Section savings_section(const Estimate& estimate, std::span<const Change> changes) {
  Table table;
  table.columns = {{"field", "field"},
                   {"from", "from"},
                   {"to", "to"},
                   {"saved", "saves", ColumnKind::bytes},
                   {"peak_memory", "device", ColumnKind::bytes},
                   {"fits", "fits", ColumnKind::flag},
                   {"step_time", "step", ColumnKind::seconds},
                   {"step_time_change", "step time", ColumnKind::ratio}};
  for (const Change& change : changes) {
    Row row;
    row.cells = {text_cell(change.field),
                 text_cell(change.from),
                 text_cell(change.to),
                 estimate.verdict.need - change.quick.peak,
                 change.quick.peak,
                 change.quick.fits,
                 Seconds(change.quick.step_time_s),
                 Cell(change.quick.step_time_s / estimate.step_time_s - 1)};
    table.rows.push_back(std::move(row));
  }
  Section section{"memory_savings", "Single changes that lower the peak most", std::move(table), {}};
  section.notes.push_back("step time: longer (or, below 0, shorter) than now, at the same global batch");
  return section;
}

std::vector<std::string> all_warnings(const Scenario& scenario, const Estimate& estimate) {
  std::vector<std::string> all = scenario.assumptions;
  all.insert(all.end(), estimate.warnings.begin(), estimate.warnings.end());
  for (const std::string& what : estimate.unmodelled) all.push_back("not modelled: " + what);
  return all;
}

}  // namespace shardfit::report
