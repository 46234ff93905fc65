// SPDX-License-Identifier: Apache-2.0
// What a run that leaves a setting out must have had, because the stack would have refused it otherwise.
#include <algorithm>
#include <string>

#include "shardfit/layout/job_facts.hpp"
#include "shardfit/layout/rules.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Chunks of `most` layers, the last ones less, with embedding, MTP layers and loss in their places.
std::string layout_text(int layers, int mtp, int chunks) {
  const int most = (layers + chunks - 1) / chunks;
  const bool last_takes_rest = layers - most * (chunks - 1) >= 0;
  std::string text = "E";
  for (int i = 0, left = layers; i < chunks; ++i) {
    const int even = (left + chunks - i - 1) / (chunks - i);
    const int here = last_takes_rest ? std::min(left, most) : even;
    left -= here;
    text += repeated("t", here);
    text += i + 1 < chunks ? "|" : repeated("m", mtp) + "L";
  }
  return text;
}

}  // namespace

std::optional<PipelineSplit> assumed_split(const Job& job, int pp, int vpp) {
  const JobFacts facts = job_facts(job);
  const int chunks = pp * vpp;
  if (pp < 1 || vpp < 1 || facts.layers < chunks) return std::nullopt;
  PipelineSplit split;
  if (facts.layers % chunks == 0) return split;
  split.kind = SplitKind::accounting;
  constexpr bool kPairs[][2] = {{true, true}, {false, true}, {true, false}};
  for (const auto& [embedding, loss] : kPairs) {
    split.account_for_embedding = embedding;
    split.account_for_loss = loss;
    if ((facts.layers + embedding + loss) % chunks == 0) return split;
  }
  split = {};
  split.kind = SplitKind::layout_string;
  split.text = layout_text(facts.layers, facts.mtp, chunks);
  return split;
}

CpCommType assumed_cp_comm_type(const ModelSpec& model) {
  bool local = false;
  for (const MixerSpec& mixer : model.text.mixers) {
    if (std::holds_alternative<CompressedMqaSpec>(mixer.kind)) return CpCommType::all_gather;
    const auto* gqa = std::get_if<GqaSpec>(&mixer.kind);
    local = local || (gqa != nullptr && (gqa->sliding_window || gqa->attention_sinks));
  }
  return local ? CpCommType::a2a : CpCommType::p2p;
}

}  // namespace shardfit
