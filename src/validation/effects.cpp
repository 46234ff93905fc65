// SPDX-License-Identifier: Apache-2.0
#include "validation/effects.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardfit::validation {
namespace {

constexpr double kNoChange = 0.05;  // a pair below its noise should be predicted below this
constexpr double kSizeTolerance = 1.0 / 3;

struct Found {
  const MeasuredRun* run;
  const Row* row;
};

/// The peak of a run in 1e9 bytes: the one that its own figure was held against, else the largest allocated one.
double peak_gb(const Found& f) {
  for (const Score& s : f.row->scores) {
    if (s.name == "peak_allocated_gb") return s.predicted;
    if (s.name == "peak_gib") return double(gib(s.predicted).value) / kGB;
  }
  Bytes most;
  for (const StageMemory& s : f.row->estimate->memory) most = std::max(most, s.ledger.allocated());
  return double(most.value) / kGB;
}

std::optional<double> predicted_change(const MeasuredEffect& effect, const Found& a, const Found& b) {
  if (!a.row->estimate || !b.row->estimate) return std::nullopt;
  const Estimate &ea = *a.row->estimate, &eb = *b.row->estimate;
  const auto per_token = [](const Found& f, const Estimate& e) {
    const TrainingSpec& t = f.run->scenario.job.training;
    return e.step_time_s * f.run->scenario.job.gpus / (double(t.global_batch_size) * t.sequence_length);
  };
  if (effect.quantity == "step_time_per_token") return per_token(b, eb) / per_token(a, ea);
  if (effect.quantity == "tflops_per_gpu") return eb.model_tflops_per_gpu / ea.model_tflops_per_gpu;
  if (effect.quantity == "peak_memory") {
    return effect.unit == "GB" ? peak_gb(b) - peak_gb(a) : peak_gb(b) / peak_gb(a);
  }
  return std::nullopt;
}

/// How far a size is from the measured one. What a run that died had allocated is a lower bound of its need, so a
/// difference from (or to) it bounds the change from one side only.
double size_error(const MeasuredEffect& effect, double measured, double predicted) {
  if (effect.quantity != "peak_memory" || effect.a_died == effect.b_died) return std::abs(predicted - measured);
  return std::max(0.0, effect.a_died ? predicted - measured : measured - predicted);
}

void judge(const MeasuredEffect& effect, EffectRow& row) {
  const bool ratio = row.unit.empty();
  const double measured = ratio ? std::log(*row.measured) : *row.measured;
  const double predicted = ratio ? std::log(*row.predicted) : *row.predicted;
  const double noise = ratio ? std::log1p(row.noise) : row.noise;
  row.above_noise = std::abs(measured) > noise;
  row.sign_right = measured * predicted > 0;  // no change at all is no sign
  row.size_right = row.sign_right && size_error(effect, measured, predicted) <= kSizeTolerance * std::abs(measured);
  row.no_change_right = !row.above_noise &&
                        (ratio ? std::abs(predicted) < std::log1p(kNoChange) : std::abs(predicted) <= noise);
}

void count(const EffectRow& row, EffectSummary& s) {
  ++s.pairs;
  if (!row.predicted || !row.measured) return;
  ++s.predicted;
  if (!row.clean) return;
  if (row.above_noise) {
    ++s.clean_above_noise;
    s.sign_right += row.sign_right;
    s.size_right += row.size_right;
  } else {
    ++s.no_change;
    s.no_change_right += row.no_change_right;
  }
}

void count_families(const std::vector<EffectRow>& rows, EffectSummary& s) {
  struct Shares {
    int pairs = 0, sign = 0, size = 0;
  };
  std::map<std::string, Shares> families;
  for (const EffectRow& row : rows) {
    if (!row.clean || !row.predicted || !row.measured || !row.above_noise) continue;
    Shares& f = families[row.family.empty() ? row.id : row.family];
    ++f.pairs;
    f.sign += row.sign_right;
    f.size += row.size_right;
  }
  s.families = int(families.size());
  for (const auto& [name, f] : families) {
    s.family_sign_right += double(f.sign) / f.pairs / s.families;
    s.family_size_right += double(f.size) / f.pairs / s.families;
  }
}

}  // namespace

Effects score_effects(const std::vector<MeasuredEffect>& effects, const std::vector<MeasuredRun>& runs,
                      const std::vector<Row>& rows) {
  std::map<std::string, Found> by_id;
  for (std::size_t i = 0; i < rows.size(); ++i) by_id[rows[i].id] = {&runs[i], &rows[i]};
  Effects out;
  for (const MeasuredEffect& effect : effects) {
    EffectRow row{.id = effect.id,
                  .kind = effect.kind,
                  .quantity = effect.quantity,
                  .unit = effect.unit,
                  .family = effect.family,
                  .clean = effect.clean,
                  .measured = effect.measured,
                  .noise = effect.noise};
    const auto a = by_id.find(effect.a), b = by_id.find(effect.b);
    if (a == by_id.end() || b == by_id.end()) {
      row.reason = "run not among the files given: " + (a == by_id.end() ? effect.a : effect.b);
    } else {
      row.predicted = predicted_change(effect, a->second, b->second);
      if (!row.predicted) {
        const Row& lacking = *(a->second.row->estimate ? b : a)->second.row;
        row.reason = lacking.reason.empty() ? "no prediction of " + effect.quantity : lacking.id + ": " + lacking.reason;
      }
    }
    if (row.predicted && row.measured) judge(effect, row);
    count(row, out.summary);
    out.rows.push_back(std::move(row));
  }
  count_families(out.rows, out.summary);
  return out;
}

}  // namespace shardfit::validation
