// SPDX-License-Identifier: Apache-2.0
#include "estimate/views.hpp"

#include <cmath>

#include "estimate/stage_inputs.hpp"
#include "estimate/stage_load.hpp"

namespace shardfit::estimate {

std::vector<StageTime> stage_times(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<StageTime> times;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const StageSums sums = stage_sums(problem, e, layout, stage);
    const StageSeconds seconds = stage_seconds(problem, e, stage, sums,
                                               schedule::combined_1f1b_pairs(pipeline_shape(layout, grid), stage),
                                               image_wait(problem, e, layout, grid));
    times.push_back({stage, seconds.forward_s, seconds.backward_s, sums.forward.host, sums.backward.host + sums.rerun.host});
  }
  return times;
}

std::vector<TensorRow> tensor_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<TensorRow> rows;
  const bool selective = layout.recompute.granularity == RecomputeGranularity::selective;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    for (int k = 0; k < problem.layers.size(); ++k) {
      const Part& part = e.parts.kind(k);
      for (const memory::LiveLayers& live : in.layers) {
        if (live.profile != &part.kept->plain) continue;
        for (const block::Op& op : part.ops)
          for (const block::Saved& s : op.saved)
            if (!(selective && s.dropped_by.intersects(layout.recompute.modules)) && s.bytes.value)
              rows.push_back({op.name, s.name, memory::saved_term(op.view), stage, int(live.live), s.bytes});
      }
      for (const memory::LiveLayers& live : in.layers)
        if (live.profile == &part.kept->checkpointed)
          rows.push_back(
              {"checkpoint", "block input", MemoryTerm::saved_checkpoints, stage, int(live.live), live.profile->saved_total()});
    }
  }
  return rows;
}

SampleFigures sample_figures(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid) {
  SampleFigures load;
  if (!problem.vision) return load;
  const workload::SampleLoad& sample = problem.sample;
  load.images_per_sample = sample.images;
  load.visual_tokens_per_sample = sample.visual_tokens;
  load.patches_per_sample = sample.patches;
  load.spread = sample.visual_spread;
  load.tokens_per_sample = sample.tokens;
  load.samples_per_row = workload::samples_per_row(problem.job.training, sample);
  load.waiting_ranks = ranks_waiting_for_images(layout, grid);
  load.executed_sequence = workload::executed_sequence(problem.job, layout, sample, load.waiting_ranks);
  load.visual_tokens_per_microbatch = e.parts.vision_batch().tokens;
  if (load.visual_tokens_per_microbatch > 0)
    load.fullest_microbatch = e.parts.fullest_vision_batch().tokens / load.visual_tokens_per_microbatch;
  load.slowest_rank = image_wait(layout, grid, e.parts.vision_batch().spread);
  return load;
}

namespace {

/// The first chunk that starts on a layer which reads an earlier layer's choice of keys, though none chose in it: Megatron-Core
/// hands no choice from stage to stage (experimental_attention_variant_module_specs.py). -1: none.
int chunk_without_choice(const Problem& problem, const Layout& layout) {
  StagePlan plan;
  if (!make_stage_plan(problem.job, layout, plan)) return -1;
  const TextSpec& text = problem.job.model.text;
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const Chunk& chunk = plan.chunks[i];
    if (chunk.num_layers == 0) continue;
    const int mixer = text.layers[std::size_t(chunk.first_layer)].mixer;
    const MlaSpec* mla = mixer < 0 ? nullptr : std::get_if<MlaSpec>(&text.mixers[std::size_t(mixer)].kind);
    if (mla && mla->indexer && mla->indexer->shared) return int(i) % plan.pp;
  }
  return -1;
}

}  // namespace

void set_remarks(const Problem& problem, const Layout& layout, Estimate& out) {
  const Job& job = problem.job;
  if (const int stage = chunk_without_choice(problem, layout); stage >= 0 && job.stack.framework == Framework::megatron)
    out.warnings.push_back("stage " + std::to_string(stage) +
                           " starts on a layer that reads an earlier layer's choice of keys: "
                           "Megatron-Core refuses that (layout.pipeline_layout)");
  if (layout.overlap.delay_wgrad)
    out.unmodelled.push_back("delayed weight gradients: no effect on time beyond expert overlap is modelled");
  if (job.stack.moe_shared_expert_overlap) out.unmodelled.push_back("shared-expert overlap: counted as running in line");
  if (job.stack.nccl_user_buffers) out.unmodelled.push_back("NCCL user buffers: no effect on time is modelled");
  if (job.stack.use_sharp && !job.hardware.fabric.sharp)
    out.warnings.push_back(job.hardware.name +
                           " has no switches that reduce (fabric.sharp): stack.use_sharp counts for nothing");
  else if (job.stack.use_sharp && layout.sharding != Sharding::none)
    out.unmodelled.push_back("SHARP for reduce-scatter and gather: counted as rings");
  if (problem.vision && job.stack.vision_dp_when_cp && layout.cp > 1 && !tower_build(job.model, job.stack).split_over_tp)
    out.warnings.push_back(
        "stack.vision_dp_when_cp has no effect: this tower is a published module, and every "
        "context-parallel rank runs all of its patches");
  if (problem.vision && tower_family(job.model).whole_score_bias && job.stack.entry_point == EntryPoint::megatron_bridge)
    out.unmodelled.push_back("attention of " + job.model.name +
                             " with images: Megatron-Bridge adds a bias of [s, s] to it, twice in memory, and "
                             "computes both halves of the scores");
  if (problem.sample.tokens > job.training.sequence_length)
    out.warnings.push_back("samples of " + std::to_string(std::llround(problem.sample.tokens)) +
                           " tokens are longer than rows of " + std::to_string(job.training.sequence_length) +
                           ": counted as cut (training.sequence_length)");
  if (out.sample.executed_sequence > 0 && out.sample.executed_sequence < job.training.sequence_length &&
      layout.cuda_graph.impl != CudaGraphImpl::none)
    out.warnings.push_back("CUDA graphs need rows of one length: here they vary from one micro-batch to the next");
  if (out.sample.executed_sequence > 0 && out.sample.executed_sequence < job.training.sequence_length)
    out.warnings.push_back(
        "rows run at " + std::to_string(out.sample.executed_sequence) +
        " tokens, the longest of those that wait for one another: this stack does not pad them (stack.vision_pads_when_ep)");
  if (job.stack.deepep_version == 2 && layout.dispatcher == Dispatcher::deepep && problem.has_moe)
    out.unmodelled.push_back("buffers of DeepEP 2: counted as those of DeepEP 1");
  if (layout.cp > 1 && layout.cp_comm_type == CpCommType::a2a_p2p)
    out.warnings.push_back("a2a+p2p: rings of " + std::to_string(hierarchical_cp_ring(layout.cp)) +
                           " over all-to-all inside are assumed for hierarchical_context_parallel_sizes");
  for (const Alteration& a : alterations(job, layout)) out.warnings.push_back(std::string(a.what));
}

}  // namespace shardfit::estimate
