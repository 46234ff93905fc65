// SPDX-License-Identifier: Apache-2.0
#include "validation/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "shardfit/estimate/estimator.hpp"

namespace shardfit::validation {
namespace {

constexpr double kClearDifference = 0.05;  // pairs closer than this have no order worth scoring

VerdictSummary summarize_verdicts(const std::vector<Row>& rows) {
  VerdictSummary s;
  double squares = 0;
  for (const Row& row : rows) {
    if (!row.verdict) continue;
    const VerdictScore& v = *row.verdict;
    ++s.rows;
    s.oom += v.measured_oom;
    s.oom_caught += v.measured_oom && v.predicted_oom;
    s.fits_right += !v.measured_oom && !v.predicted_oom;
    squares += std::pow(v.p_oom - (v.measured_oom ? 1 : 0), 2);
  }
  const int fits = s.rows - s.oom;
  if (s.rows) s.brier = squares / s.rows;
  const double caught = s.oom ? double(s.oom_caught) / s.oom : 1, right = fits ? double(s.fits_right) / fits : 1;
  s.balanced_accuracy = (caught + right) / 2;
  return s;
}

/// Predicted and measured time per token of a row that has a step time or a throughput.
struct TimePerToken {
  double measured, predicted;
  const Scenario* of = nullptr;
};
std::optional<TimePerToken> time_per_token(const MeasuredRun& run, const Row& row) {
  const double tokens = double(run.scenario.job.training.global_batch_size) * run.scenario.job.training.sequence_length;
  for (const Score& s : row.scores) {
    if (s.name == "step_time_s") return TimePerToken{s.measured / tokens, s.predicted / tokens};
    if (s.name == "tokens_per_s_per_gpu")
      return TimePerToken{1 / s.measured / run.scenario.job.gpus, 1 / s.predicted / run.scenario.job.gpus};
  }
  return std::nullopt;
}

using Groups = std::map<std::string, std::vector<TimePerToken>>;

/// Rows with a time per token and GPU, by model, hardware, precision and sequence length.
Groups comparable_rows(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows) {
  Groups groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != RowStatus::ok) continue;
    const Job& job = runs[i].scenario.job;
    if (auto t = time_per_token(runs[i], rows[i])) {
      t->measured *= job.gpus;  // per GPU, so that runs on other numbers of GPUs compare
      t->predicted *= job.gpus;
      t->of = &runs[i].scenario;
      groups[job.model.name + "/" + job.hardware.name + "/" + std::string(name_of(job.training.precision)) + "/" +
             std::to_string(job.training.sequence_length)]
          .push_back(*t);
    }
  }
  return groups;
}

/// One layout of one job in two releases of its software: not two layouts to be put in order.
bool same_layout(const Scenario& a, const Scenario& b) {
  return a.job.gpus == b.job.gpus && a.job.training.global_batch_size == b.job.training.global_batch_size &&
         layout_id(a.base) == layout_id(b.base);
}

OrderSummary summarize_order(const Groups& groups) {
  OrderSummary s;
  for (const auto& [key, group] : groups)
    for (std::size_t a = 0; a < group.size(); ++a)
      for (std::size_t b = a + 1; b < group.size(); ++b) {
        const double measured = group[a].measured / group[b].measured;
        if (std::abs(std::log(measured)) < std::log1p(kClearDifference)) continue;
        if (same_layout(*group[a].of, *group[b].of)) continue;
        ++s.pairs;
        s.right += (measured > 1) == (group[a].predicted > group[b].predicted);
      }
  return s;
}

/// Ranks of values, ties sharing their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (double v : values) {
    double below = 0, equal = 0;
    for (double o : values) below += o < v, equal += o == v;
    ranks.push_back(below + (equal - 1) / 2);
  }
  return ranks;
}

/// Pearson's correlation of ranks; none where one side does not vary.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ra = ranks_of(a), rb = ranks_of(b);
  const double mean = (double(a.size()) - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (ra[i] - mean) * (rb[i] - mean);
    aa += (ra[i] - mean) * (ra[i] - mean);
    bb += (rb[i] - mean) * (rb[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::vector<RankCorrelation> rank_correlations(const Groups& groups) {
  constexpr std::size_t kFewest = 3;
  std::vector<RankCorrelation> out;
  for (const auto& [key, group] : groups) {
    if (group.size() < kFewest) continue;
    std::vector<double> measured, predicted;
    for (const TimePerToken& t : group) measured.push_back(t.measured), predicted.push_back(t.predicted);
    if (const auto r = spearman(measured, predicted)) out.push_back({key, int(group.size()), *r});
  }
  return out;
}

}  // namespace

QuantitySummary summarize_errors(const std::string& name, std::vector<double> errors) {
  QuantitySummary s{.quantity = name, .rows = int(errors.size())};
  std::vector<double> magnitudes;
  for (double e : errors) magnitudes.push_back(std::abs(e));
  s.median_abs_error = quantile(magnitudes, 0.5);
  s.p90_abs_error = quantile(magnitudes, 0.9);
  s.max_abs_error = magnitudes.back();
  s.bias = quantile(errors, 0.5);
  return s;
}

std::vector<GroupSummary> summarize_by(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows,
                                       const std::string& field, const std::string& quantity) {
  std::map<std::string, std::vector<double>> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = runs[i].fields.find(field);
    for (const Score& score : rows[i].scores)
      if (score.name == quantity) errors[at == runs[i].fields.end() ? "-" : at->second].push_back(score.error());
  }
  std::vector<GroupSummary> groups;
  for (const auto& [name, list] : errors) groups.push_back({name, summarize_errors(quantity, list)});
  return groups;
}

std::vector<VerdictGroup> verdicts_by(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows, VerdictField field) {
  std::map<std::string, std::vector<Row>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].verdict) continue;
    const Job& job = runs[i].scenario.job;
    std::string name = field == VerdictField::framework  ? std::string(name_of(job.stack.framework))
                       : field == VerdictField::hardware ? job.hardware.name
                                                         : job.model.name;
    Row verdict_only;
    verdict_only.verdict = rows[i].verdict;
    groups[std::move(name)].push_back(std::move(verdict_only));
  }
  std::vector<VerdictGroup> out;
  for (const auto& [name, list] : groups) out.push_back({name, summarize_verdicts(list)});
  return out;
}

double quantile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  const auto rank = std::size_t(std::ceil(p * double(values.size())));
  return values[rank == 0 ? 0 : rank - 1];
}

Summary summarize(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows) {
  Summary s{.rows = int(rows.size())};
  std::map<std::string, std::vector<double>> errors;
  for (const Row& row : rows) {
    s.ok += row.status == RowStatus::ok;
    s.unsupported += row.status == RowStatus::unsupported;
    s.invalid += row.status == RowStatus::invalid;
    s.errors += row.status == RowStatus::error;
    for (const Score& score : row.scores) errors[score.name].push_back(score.error());
  }
  for (auto& [name, list] : errors) s.quantities.push_back(summarize_errors(name, list));
  s.verdicts = summarize_verdicts(rows);
  const Groups groups = comparable_rows(runs, rows);
  s.order = summarize_order(groups);
  s.rank_correlations = rank_correlations(groups);
  return s;
}

}  // namespace shardfit::validation
