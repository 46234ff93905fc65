// SPDX-License-Identifier: Apache-2.0
#include "estimate/problem.hpp"

#include <algorithm>

#include "workload/routing.hpp"

namespace shardfit::estimate {

LayerKinds::LayerKinds(const TextSpec& text, const TrainingSpec& training) {
  const int layers = int(text.layers.size());
  for (int i = 0; i < layers; ++i) {
    const LayerKind kind{text.layers[std::size_t(i)], keeps_layer_in_bf16(training, i, layers)};
    const auto at = std::find(kinds.begin(), kinds.end(), kind);
    kind_of_layer.push_back(int(at - kinds.begin()));
    if (at == kinds.end()) kinds.push_back(kind);
  }
  prefix_.assign(kinds.size(), std::vector<int>(text.layers.size() + 1, 0));
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (std::size_t i = 0; i < text.layers.size(); ++i) prefix_[k][i + 1] = prefix_[k][i] + (kind_of_layer[i] == int(k));
}

Problem::Problem(Job j)
    : job(std::move(j)),
      layers(job.model.text, job.training),
      device(compute::make_device(job)),
      cluster(job.hardware, job.gpus),
      expert_load(workload::expert_load(job.training)),
      vision(runs_vision(job.model, job.training)),
      sample(vision ? workload::sample_load(*job.model.vision, job.training.vision.value_or(VisionWorkload{}))
                    : workload::SampleLoad{}),
      mtp_depth(shardfit::mtp_depth(job.model.text, job.training)) {
  has_moe = shardfit::has_moe(job.model.text);
}

}  // namespace shardfit::estimate
