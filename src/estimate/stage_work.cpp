// SPDX-License-Identifier: Apache-2.0
#include "estimate/stage_work.hpp"

namespace shardfit::estimate {

bool same_work_as_previous(const Problem& problem, const StagePlan& plan, int stage) {
  if (stage < 2 || stage == plan.pp - 1) return false;
  for (int v = 0; v < plan.vpp; ++v) {
    const Chunk &a = plan.at(stage, v), &b = plan.at(stage - 1, v);
    if (a.num_layers != b.num_layers || a.embedding || a.head || a.mtp_layers || a.vision || b.embedding || b.head ||
        b.mtp_layers || b.vision)
      return false;
    for (int k = 0; k < problem.layers.size(); ++k)
      if (problem.layers.count(k, a.first_layer, a.num_layers) != problem.layers.count(k, b.first_layer, b.num_layers))
        return false;
  }
  return true;
}

bool StageWorks::prepare(const Problem& problem, const Layout& layout, StagePlan& plan) {
  if (layout.pp == pp_ && layout.vpp == vpp_ && layout.split == split_) return planned_;
  pp_ = layout.pp;
  vpp_ = layout.vpp;
  split_ = layout.split;
  ++plans_;
  planned_ = make_stage_plan(problem.job, layout, plan);
  if (planned_) count(problem, plan);
  return planned_;
}

void StageWorks::count(const Problem& problem, const StagePlan& plan) {
  const std::size_t kinds = std::size_t(problem.layers.size());
  stages_.assign(std::size_t(plan.pp), StageWork{});
  distinct_.clear();
  layers_.assign(std::size_t(plan.pp) * kinds, 0);
  for (int stage = 0; stage < plan.pp; ++stage) {
    StageWork& work = stages_[std::size_t(stage)];
    int* const layers = &layers_[std::size_t(stage) * kinds];
    work.layers = {layers, kinds};
    work.vision = problem.vision && plan.at(stage, 0).vision;
    work.repeats = same_work_as_previous(problem, plan, stage);
    if (!work.repeats) distinct_.push_back(stage);
    for (int v = 0; v < plan.vpp; ++v) {
      const Chunk& chunk = plan.at(stage, v);
      for (std::size_t k = 0; k < kinds; ++k) layers[k] += problem.layers.count(int(k), chunk.first_layer, chunk.num_layers);
      work.embeddings += chunk.embedding;  // an MTP depth looks its shifted tokens up itself
      work.mtp_layers += chunk.mtp_layers;
      work.heads += chunk.head;
    }
  }
}

}  // namespace shardfit::estimate
