// SPDX-License-Identifier: Apache-2.0
// Grid and batch: which sizes divide the ranks and the global batch.
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr Rule kRules[] = {
    {{"axes_positive", "grid", "every axis is at least 1", "smallest axis", "least value", RuleSource::shardfit, ""},
     RuleScope::everywhere,
     {},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp, On::vpp, On::optimizer_instances},
     [](const Case& c) {
       const Layout& l = c.layout;
       return at_least(std::min({l.tp, l.cp, l.pp, l.vpp, l.ep, l.etp, l.micro_batch_size, l.optimizer_instances}), 1);
     }},
    {{"dense_grid", "grid", "tp * cp * pp divides the number of ranks", "tp * cp * pp", "ranks", RuleSource::megatron_core,
      "Megatron-LM core/parallel_state.py:initialize_model_parallel; training/arguments.py:validate_args"},
     RuleScope::everywhere,
     {Axis::tp, Axis::cp, Axis::pp},
     Reads{On::tp, On::cp, On::pp},
     [](const Case& c) { return divides(std::int64_t(c.layout.tp) * c.layout.cp * c.layout.pp, c.job.gpus); }},
    {{"expert_grid", "grid", "etp * ep * pp divides the number of ranks", "etp * ep * pp", "ranks", RuleSource::megatron_core,
      "Megatron-LM core/parallel_state.py:initialize_model_parallel"},
     RuleScope::everywhere,
     {Axis::ep, Axis::etp, Axis::pp},
     Reads{On::ep, On::etp, On::pp},
     [](const Case& c) { return divides(std::int64_t(c.layout.etp) * c.layout.ep * c.layout.pp, c.job.gpus); }},
    {{"pp_order", "grid",
      "use_tp_pp_dp_mapping with pp above 1: tp * cp equals etp * ep, so that both grids have the same stages", "tp * cp",
      "etp * ep", RuleSource::megatron_core, "Megatron-LM core/parallel_state.py:initialize_model_parallel"},
     RuleScope::everywhere,
     {Axis::ep, Axis::etp},
     Reads{On::tp, On::cp, On::ep, On::etp, On::pp},
     [](const Case& c) {
       const Layout& l = c.layout;
       if (!l.use_tp_pp_dp_mapping || l.pp == 1 || c.job.experts == 0) return kPass;
       return equals(std::int64_t(l.tp) * l.cp, std::int64_t(l.etp) * l.ep);
     }},
    {{"batch", "grid", "micro_batch_size * dp divides a global batch of at least 1", "micro_batch_size * dp",
      "global_batch_size", RuleSource::megatron_core, "Megatron-LM core/num_microbatches_calculator.py"},
     RuleScope::everywhere,
     {Axis::micro_batch_size, Axis::pp, Axis::tp},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp},
     [](const Case& c) {
       if (!c.grid_sound) return kPass;
       const std::int64_t step = std::int64_t(c.layout.micro_batch_size) * c.grid.dp;
       return Finding{c.job.global_batch < 1 || c.job.global_batch % step != 0, step, c.job.global_batch};
     }},
    {{"instances_divide_dp", "grid", "optimizer_instances divides dp * cp", "optimizer_instances", "dp * cp",
      RuleSource::megatron_core, "Megatron-LM core/parallel_state.py:initialize_model_parallel"},
     RuleScope::everywhere,
     {Axis::optimizer_instances},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp, On::optimizer_instances},
     [](const Case& c) {
       return c.grid_sound ? divides(c.layout.optimizer_instances, std::int64_t(c.grid.dp) * c.layout.cp) : kPass;
     }},
    {{"instances_divide_edp", "grid", "optimizer_instances divides edp", "optimizer_instances", "edp",
      RuleSource::megatron_core, "Megatron-LM core/parallel_state.py:initialize_model_parallel"},
     RuleScope::everywhere,
     {Axis::optimizer_instances, Axis::ep},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp, On::optimizer_instances},
     [](const Case& c) { return c.grid_sound ? divides(c.layout.optimizer_instances, c.grid.edp) : kPass; }},
};

}  // namespace

std::span<const Rule> grid_rules() { return kRules; }

}  // namespace shardfit::layout
