#include "schedule/step_time.hpp"
namespace shardfit::schedule {
double combined_1f1b_pairs(const PipelineShape& shape, int stage) {
  if (!shape.expert_overlap) return 0;
  const int all = shape.microbatches * shape.vpp;
  return all > 0 ? double(all - warmup_microbatches(shape, stage)) / all : 0;
}
}
