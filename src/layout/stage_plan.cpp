// SPDX-License-Identifier: Apache-2.0
// Computes:   which decoder layers, MTP layers, embedding, head and vision tower every pipeline chunk holds.
// Formula:    uniform L/(pp*vpp); first/last counts, the middle shared evenly, each rank cut in vpp chunks; accounting: (L
//             + embedding + loss)/(pp*vpp), one layer less where a pseudo layer sits; a layout string or hybrid pattern
//             says it part by part. Chunk vp*pp + stage; layers run through the chunks in that order.
// Source:     Megatron-LM core/transformer/transformer_block.py:get_num_layers_to_build,
//             transformer_layer.py:get_transformer_layer_offset, pipeline_parallel_layer_layout.py,
//             core/models/hybrid/hybrid_layer_allocation.py:select_pipeline_segment; vision: Megatron-Bridge
//             models/qwen_vl/modelling_qwen3_vl/model.py (the chunk with pre_process).
// Valid when: the layout passes the pipeline rules; otherwise nothing is planned.
// Ignores:    encoder-decoder models; vision towers on pipeline ranks of their own.
// Checked by: tests/layout/stage_plan_test.cpp.
#include "shardfit/layout/stage_plan.hpp"

#include <string_view>

#include "layout/layout_string.hpp"
#include "layout/split_shape.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit {
namespace {

/// Sizes the plan and clears every chunk.
void clear(StagePlan& plan, int pp, int vpp) {
  plan.pp = pp;
  plan.vpp = vpp;
  plan.chunks.assign(std::size_t(pp) * std::size_t(vpp), Chunk{});
}

/// Layers shared out as evenly as they go, the first chunks one more: what torch's pipelining tools do.
bool plan_nearly_even(int layers, StagePlan& plan) {
  const int chunks = int(plan.chunks.size());
  for (int i = 0; i < chunks; ++i) plan.chunks[std::size_t(i)].num_layers = layers / chunks + (i < layers % chunks);
  return layers >= chunks;
}

bool plan_uniform(int layers, StagePlan& plan) {
  const int chunks = int(plan.chunks.size());
  if (layers % chunks != 0) return false;
  for (Chunk& chunk : plan.chunks) chunk.num_layers = layers / chunks;
  return true;
}

bool plan_first_last(int layers, const Layout& layout, StagePlan& plan) {
  const layout::MiddleStages middle = layout::middle_stages(layers, layout);
  if (middle.ranks < 0 || middle.layers < 0 || (middle.ranks == 0) != (middle.layers == 0)) return false;
  if (middle.ranks > 0 && middle.layers % middle.ranks != 0) return false;
  const int first = layout.split.first_stage_layers, last = layout.split.last_stage_layers;
  for (int stage = 0; stage < plan.pp; ++stage) {
    int count = middle.ranks > 0 ? middle.layers / middle.ranks : 0;
    if (stage == 0 && first > 0) count = first;
    if (stage == plan.pp - 1 && last > 0) count = last;
    if (count % plan.vpp != 0) return false;
    for (int v = 0; v < plan.vpp; ++v) plan.chunks[std::size_t(v * plan.pp + stage)].num_layers = count / plan.vpp;
  }
  return true;
}

bool plan_accounting(int layers, const PipelineSplit& split, StagePlan& plan) {
  if (!plan_uniform(layers + split.account_for_embedding + split.account_for_loss, plan)) return false;
  plan.chunks.front().num_layers -= split.account_for_embedding;
  plan.chunks.back().num_layers -= split.account_for_loss;
  return plan.chunks.front().num_layers >= 0 && plan.chunks.back().num_layers >= 0;
}

/// Fills layers and MTP layers; false if the string has another number of parts or does not read.
bool plan_layout_string(std::string_view text, StagePlan& plan) {
  std::size_t at = 0;
  const layout::LayoutStringFault fault = layout::read_layout_string(text, [&](char c) {
    if (c == '|') ++at;
    if (at >= plan.chunks.size()) return;
    if (c == 't') ++plan.chunks[at].num_layers;
    if (c == 'm') ++plan.chunks[at].mtp_layers;
  });
  return fault == layout::LayoutStringFault::none && at + 1 == plan.chunks.size();
}

/// Bars cut the pattern; without bars the layers are shared evenly over the stages.
bool plan_hybrid_pattern(int layers, std::string_view pattern, StagePlan& plan) {
  if (!layout::has_bars(pattern)) return plan.vpp == 1 && plan_uniform(layers, plan);
  std::size_t at = 0;
  for (char c : pattern.substr(0, pattern.find('/'))) {
    if (c == '|') {
      if (++at == plan.chunks.size()) return false;
      continue;
    }
    ++plan.chunks[at].num_layers;
  }
  return at + 1 == plan.chunks.size();
}

bool fill_layers(const Job& job, const Layout& layout, StagePlan& plan) {
  const int layers = job.model.text.num_hidden_layers;
  switch (layout.split.kind) {
    case SplitKind::uniform:
      return job.stack.framework == Framework::megatron ? plan_uniform(layers, plan) : plan_nearly_even(layers, plan);
    case SplitKind::first_last: return plan_first_last(layers, layout, plan);
    case SplitKind::accounting: return plan_accounting(layers, layout.split, plan);
    case SplitKind::layout_string: return plan_layout_string(layout.split.text, plan);
    case SplitKind::hybrid_pattern: return plan_hybrid_pattern(layers, layout.split.text, plan);
    default: return false;
  }
}

}  // namespace

bool make_stage_plan(const Job& job, const Layout& layout, StagePlan& plan) {
  if (layout.pp < 1 || layout.vpp < 1) return false;
  clear(plan, layout.pp, layout.vpp);
  if (!fill_layers(job, layout, plan)) return false;

  int next = 0;
  for (Chunk& chunk : plan.chunks) {
    chunk.first_layer = next;
    next += chunk.num_layers;
  }
  if (next != job.model.text.num_hidden_layers) return false;

  plan.chunks.front().embedding = true;
  plan.chunks.front().vision = runs_vision(job.model, job.training);
  plan.chunks.back().head = true;
  if (layout.split.kind != SplitKind::layout_string) plan.chunks.back().mtp_layers = mtp_depth(job.model.text, job.training);
  return true;
}

int implied_vpp(const PipelineSplit& split, int pp) {
  int chunks = 1;
  if (split.kind == SplitKind::layout_string) {
    const auto count = [&](char c) { chunks += c == '|'; };
    if (layout::read_layout_string(split.text, count) != layout::LayoutStringFault::none) return 0;
  } else if (split.kind == SplitKind::hybrid_pattern && layout::has_bars(split.text)) {
    for (char c : std::string_view(split.text).substr(0, split.text.find('/'))) chunks += c == '|';
  } else {
    return 0;
  }
  return pp > 0 && chunks % pp == 0 ? chunks / pp : 0;
}

}  // namespace shardfit
