// SPDX-License-Identifier: Apache-2.0
#include "io/split_axis.hpp"

#include <algorithm>

#include "io/axes.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::io {
namespace {

constexpr int kMostStageCut = 2;                   ///< layers by which "all" lightens the first or last stage
constexpr int kMostMiddleExtra = 2;                ///< layers by which a tower lets middle stages outgrow an even share
constexpr int kPairShifts[] = {1, 2, 3, 4, 6, 8};  ///< layers that a tower moves from the first of two stages to the second

PipelineSplit first_last(int first, int last) {
  PipelineSplit s;
  s.kind = SplitKind::first_last;
  s.first_stage_layers = first;
  s.last_stage_layers = last;
  return s;
}

/// Splits of `layers` over pp stages whose middle stages hold n each and whose ends hold up to kMostStageCut
/// fewer.
void add_end_cuts(std::vector<PipelineSplit>& splits, int layers, int pp) {
  for (int a = 0; a <= kMostStageCut; ++a)
    for (int b = 0; b <= kMostStageCut; ++b) {
      if ((a == 0 && b == 0) || (layers + a + b) % pp != 0) continue;
      const int n = (layers + a + b) / pp;
      const bool uniform = pp == 2 && a == b;  // no middle stage to differ from
      if (n - a < 1 || n - b < 1 || uniform) continue;
      const PipelineSplit split = first_last(n - a, n - b);
      if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(split);
    }
}

/// Splits that make room for a tower on the first stage: middle stages of n layers each, the last one as many or up to two
/// fewer (the head is worth one or two), the first what is left. It keeps the layers that DeepStack adds to.
void add_tower_cuts(std::vector<PipelineSplit>& splits, int layers, int pp, int least_first) {
  const auto add = [&](int first, int last) {
    const PipelineSplit split = first_last(first, last);
    if (first >= least_first && last >= 1 && std::find(splits.begin(), splits.end(), split) == splits.end())
      splits.push_back(split);
  };
  if (pp == 2) {
    for (int shift : kPairShifts) add(layers / 2 - shift, layers - layers / 2 + shift);
    return;
  }
  const int even = (layers + pp - 1) / pp;
  for (int n = even; n <= even + kMostMiddleExtra; ++n) {
    const int ends = layers - (pp - 2) * n, most_last = std::min(n, ends - least_first);
    for (int last = most_last; last >= most_last - kMostStageCut; --last)
      if (ends - last <= n && (ends - last < n || last < n)) add(ends - last, last);
  }
}

}  // namespace

bool chunks_divide(int layers, int pp, int vpp) {
  for (int pad = 0; pad <= 2; ++pad)  // the accounting flags add up to two pseudo layers
    if ((layers + pad) % (pp * vpp) == 0) return true;
  std::vector<PipelineSplit> splits;
  add_end_cuts(splits, layers, pp);
  for (const PipelineSplit& s : splits) {
    const int middle = pp > 2 ? (layers - s.first_stage_layers - s.last_stage_layers) / (pp - 2) : vpp;
    if (s.first_stage_layers % vpp == 0 && s.last_stage_layers % vpp == 0 && middle % vpp == 0) return true;
  }
  return false;
}

std::vector<PipelineSplit> all_splits(const Job& job, const std::vector<int>& pp) {
  const int layers = job.model.text.num_hidden_layers;
  std::vector<PipelineSplit> splits{PipelineSplit{}};
  for (int p : pp)
    if (p > 1) add_end_cuts(splits, layers, p);
  if (runs_vision(job.model, job.training)) {
    const auto& deepstack = job.model.vision->deepstack;
    const int least = deepstack ? std::max(1, int(deepstack->decoder_layer_indexes.size())) : 1;
    for (int p : pp)
      if (p > 1) add_tower_cuts(splits, layers, p, least);
  }
  for (const auto& [embedding, loss] : {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
    const int padded = layers + int(embedding) + int(loss);
    if (!std::any_of(pp.begin(), pp.end(), [&](int p) { return p > 1 && padded % p == 0; })) continue;
    PipelineSplit s;
    s.kind = SplitKind::accounting;
    s.account_for_embedding = embedding;
    s.account_for_loss = loss;
    splits.push_back(s);
  }
  return splits;
}

}  // namespace shardfit::io
