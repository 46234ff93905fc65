// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "validation/score.hpp"

namespace shardfit::validation {

/// How one quantity did over the rows that have it. Errors are relative; bias is the median of error.
struct QuantitySummary {
  std::string quantity;
  int rows = 0;
  double median_abs_error = 0, p90_abs_error = 0, max_abs_error = 0, bias = 0;
};

struct VerdictSummary {
  int rows = 0, oom = 0, oom_caught = 0, fits_right = 0;
  double balanced_accuracy = 0, brier = 0;
};

/// Pairs of runs of one model, hardware and precision whose measured time per token differs by more than 5 %.
struct OrderSummary {
  int pairs = 0, right = 0;
};

/// Spearman's correlation of predicted and measured time per token and GPU over the rows of one model, hardware, precision
/// and sequence length; groups of at least three rows whose times differ.
struct RankCorrelation {
  std::string group;
  int rows = 0;
  double correlation = 0;
};

struct Summary {
  int rows = 0, ok = 0, unsupported = 0, invalid = 0, errors = 0;
  std::vector<QuantitySummary> quantities;
  VerdictSummary verdicts;
  OrderSummary order;
  std::vector<RankCorrelation> rank_correlations;
};

Summary summarize(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows);

/// Errors of one quantity over the rows that share a field's value ("hardware", "model", ...; see MeasuredRun::fields).
struct GroupSummary {
  std::string group;
  QuantitySummary errors;
};
/// Groups in the order of their names; rows without the field stand under "-".
std::vector<GroupSummary> summarize_by(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows,
                                       const std::string& field, const std::string& quantity);

/// Verdicts over the rows that share a framework (Megatron-Core, torch's FSDP2, other), a GPU or a model.
struct VerdictGroup {
  std::string group;
  VerdictSummary verdicts;
};
enum class VerdictField { framework, hardware, model, count };
/// Groups in the order of their names; of rows that were read.
std::vector<VerdictGroup> verdicts_by(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows, VerdictField field);

/// Errors of one quantity; `errors` are predicted over measured less 1, and must not be empty.
QuantitySummary summarize_errors(const std::string& quantity, std::vector<double> errors);

/// The p-th quantile (0..1) of values, by nearest rank. `values` is sorted by the call; must not be empty.
double quantile(std::vector<double>& values, double p);

}  // namespace shardfit::validation

namespace shardfit {
template <>
inline constexpr NameList<validation::VerdictField> kNames<validation::VerdictField> = {"framework", "hardware", "model"};
}  // namespace shardfit
