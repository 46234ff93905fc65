// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/compare_sections.hpp"
#include "report/layout_fields.hpp"

namespace shardfit::report {
namespace {

/// What a piece of advice comes to: a difference below 1 % is none.
std::string verdict_on(double gain, bool costs) {
  if (std::abs(gain) < kNoDifference) return "no difference";
  return (gain < 0) == costs ? "as advised" : "the other way";
}

std::string outcome_of(const AdvicePair& pair) {
  for (const Tried* side : {&pair.from, &pair.to})
    if (side->refused) return std::string(rules()[std::size_t(side->refused->rule)].code);
  std::string text = verdict_on(pair.gain(), pair.costs);
  if (!pair.to.quick.fits)
    text += ", does not fit";
  else if (!pair.from.quick.fits)
    text += ", the first does not fit";
  return text;
}

/// The axis on which a pair differs.
LayoutAxis axis_of(Advice advice) {
  switch (advice) {
    case Advice::larger_micro_batch: return LayoutAxis::micro_batch_size;
    case Advice::selective_recompute: return LayoutAxis::recompute;
    case Advice::wide_graph_scope: return LayoutAxis::cuda_graph;
    case Advice::hybridep: return LayoutAxis::dispatcher;
    default: return LayoutAxis::etp;
  }
}

Row advice_row(Family family, const AdvicePair& pair) {
  const LayoutAxis axis = axis_of(pair.advice);
  Row row;
  row.cells = {text_cell(name_of(pair.advice)),
               text_cell(name_of(family)),
               text_cell(axis_text(axis, pair.from.layout)),
               text_cell(axis_text(axis, pair.to.layout)),
               {},
               {},
               {},
               text_cell(outcome_of(pair))};
  if (!pair.has_gain()) return row;
  row.cells[4] = pair.gain();
  row.cells[5] = pair.to.quick.peak;
  row.cells[6] = pair.to.quick.peak - pair.from.quick.peak;
  return row;
}

/// Of the changes of the job, those that advice speaks of.
Row advice_row(Family family, const JobChange& change, const Estimate& best) {
  return {{text_cell(name_of(change.kind)),
           text_cell(name_of(family)),
           {},
           {},
           change.gain,
           change.quick.peak,
           change.quick.peak - best.verdict.need,
           text_cell(verdict_on(change.gain, false))},
          RowKind::data,
          0};
}

}  // namespace

double ceiling_band(const Comparison& c) {
  double band = 0;
  for (const Family family : kFamilies)
    if (c.families[family].best) band = std::max(band, c.families[family].best->time_band);
  return band;
}

bool too_close(const Comparison& c) {
  const auto &fsdp = c.families[Family::fsdp].best, &three_d = c.families[Family::three_d].best;
  return fsdp && three_d && std::abs(std::log(fsdp->step_time_s / three_d->step_time_s)) < std::log1p(ceiling_band(c));
}

Section advice_section(const Comparison& c) {
  Table table;
  table.columns = {{"advice", "advice"},
                   {"family", "family"},
                   {"from", "from"},
                   {"to", "to"},
                   {"gain", "tokens/s", ColumnKind::ratio},
                   {"peak_memory", "peak", ColumnKind::bytes},
                   {"peak_change", "change of peak", ColumnKind::bytes},
                   {"outcome", "outcome"}};
  const auto &fsdp = c.families[Family::fsdp].best, &three_d = c.families[Family::three_d].best;
  if (fsdp && three_d) {
    const double gain = three_d->useful_tokens_per_s_per_gpu / fsdp->useful_tokens_per_s_per_gpu - 1;
    table.rows.push_back({{text_cell("higher_ceiling"),
                           {},
                           text_cell("fsdp"),
                           text_cell("3d"),
                           gain,
                           three_d->verdict.need,
                           three_d->verdict.need - fsdp->verdict.need,
                           text_cell(too_close(c) ? "within the error" : verdict_on(gain, false))},
                          RowKind::data,
                          0});
  }
  for (const Family family : kFamilies) {
    const FamilyResult& f = c.families[family];
    for (const AdvicePair& pair : f.advice) table.rows.push_back(advice_row(family, pair));
    for (const JobChange& change : f.changes)
      if (change.kind != JobChangeKind::twice_the_images) table.rows.push_back(advice_row(family, change, *f.best));
  }
  Section section{"advice", "Advice in circulation, around the best layouts", std::move(table), {}};
  section.notes.push_back(
      "each pair differs by what it names alone (recompute: without graphs and expert overlap); below 1 % is no difference; "
      "expert_tensor_parallel is advised against where the model fits without");
  return section;
}

}  // namespace shardfit::report
