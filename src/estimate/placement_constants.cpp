// SPDX-License-Identifier: Apache-2.0
#include "estimate/placement_constants.hpp"

namespace shardfit::estimate {

bool PlacementConstants::is_of(const Layout& l, int builds) const {
  return builds == builds_ && l.pp == layout_.pp && l.vpp == layout_.vpp && l.sharding == layout_.sharding &&
         l.optimizer_instances == layout_.optimizer_instances &&
         l.offload.optimizer_fraction == layout_.offload.optimizer_fraction &&
         l.offload.activation_layers == layout_.offload.activation_layers &&
         l.fsdp_double_buffer == layout_.fsdp_double_buffer && l.overlap.tp_comm == layout_.overlap.tp_comm &&
         l.overlap.grad_reduce == layout_.overlap.grad_reduce &&                        // buckets of gradients
         (l.pp > 1 || l.overlap.expert_alltoall == layout_.overlap.expert_alltoall) &&  // kept_plan_bytes
         l.microbatch_group_size == layout_.microbatch_group_size && l.use_tp_pp_dp_mapping == layout_.use_tp_pp_dp_mapping &&
         l.split == layout_.split;
}

bool PlacementConstants::begin(const Layout& layout, int builds) {
  if (is_of(layout, builds)) return false;
  layout_ = layout;
  builds_ = builds;
  if (stages.size() < std::size_t(layout.pp)) stages.resize(std::size_t(layout.pp));
  clear();
  return true;
}

void PlacementConstants::clear() {
  for (Stage& stage : stages) {
    stage.made = stage.step_made = false;
    stage.params.reset();
  }
  outside.reset();
  transfer.reset();
  image_wait.reset();
  floor.reset();
  for (std::optional<Bytes>& kept : kept_floor) kept.reset();
}

}  // namespace shardfit::estimate
