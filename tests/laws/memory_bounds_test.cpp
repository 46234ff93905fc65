// SPDX-License-Identifier: Apache-2.0
// What a sweep may conclude from one layout about another: where memory grows with an axis, and where it does not. And what it
// keeps from one layout to the next must not show.
#include <doctest/doctest.h>

#include <functional>

#include "io/load.hpp"
#include "laws/valid_layouts.hpp"

using namespace shardfit;

namespace {

constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200.json", "qwen3.5-35b-a3b-gb200.json", "qwen3-235b-gb200.json",
                                      "deepseek-v3-gb200.json", "llama-3-70b-gb200.json"};

struct Case {
  explicit Case(const char* file) : scenario(opened(file)), estimator(scenario.job) {}
  static Scenario opened(const char* file) {
    Scenario s = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + file);
    s.space.sharding = {Sharding::none, Sharding::optimizer, Sharding::optimizer_grads, Sharding::full};
    s.space.optimizer_instances = {1, 2};
    s.space.optimizer_offload = {0, 0.5};
    return s;
  }
  bool allows(const Layout& layout) const { return !first_violation(scenario.job, layout); }
  Bytes peak_of(const Layout& layout) { return estimator.quick(layout, workspace).peak; }

  Scenario scenario;
  Estimator estimator;
  Estimator::Workspace workspace;
};

EnumSet<RecomputeModule> modules_of(const Recompute& r) {
  return r.granularity == RecomputeGranularity::selective ? r.modules : EnumSet<RecomputeModule>{};
}

/// Every field of a layout that a neighbour may differ in, one change each.
const std::vector<std::pair<const char*, std::function<void(Layout&)>>>& changes() {
  static const std::vector<std::pair<const char*, std::function<void(Layout&)>>> all = {
      {"tp", [](Layout& l) { l.tp *= 2; }},
      {"cp", [](Layout& l) { l.cp *= 2; }},
      {"ep", [](Layout& l) { l.ep *= 2; }},
      {"etp", [](Layout& l) { l.etp *= 2; }},
      {"micro_batch_size", [](Layout& l) { l.micro_batch_size *= 2; }},
      {"sequence_parallel", [](Layout& l) { l.sequence_parallel = !l.sequence_parallel; }},
      {"use_tp_pp_dp_mapping", [](Layout& l) { l.use_tp_pp_dp_mapping = !l.use_tp_pp_dp_mapping; }},
      {"sharding", [](Layout& l) { l.sharding = l.sharding == Sharding::full ? Sharding::optimizer : Sharding::full; }},
      {"sharding none", [](Layout& l) { l.sharding = Sharding::none; }},
      {"optimizer_instances", [](Layout& l) { l.optimizer_instances = 3 - l.optimizer_instances; }},
      {"fsdp_double_buffer", [](Layout& l) { l.fsdp_double_buffer = !l.fsdp_double_buffer; }},
      {"recompute modules",
       [](Layout& l) {
         l.recompute = {RecomputeGranularity::selective, {RecomputeModule::layernorm}};
       }},
      {"recompute none", [](Layout& l) { l.recompute = {}; }},
      {"recompute uniform", [](Layout& l) { l.recompute = {.granularity = RecomputeGranularity::full}; }},
      {"recompute block",
       [](Layout& l) {
         l.recompute = {.granularity = RecomputeGranularity::full, .method = RecomputeMethod::block, .num_layers = 2};
       }},
      {"microbatch_group_size", [](Layout& l) { l.microbatch_group_size = l.pp + 1; }},
      {"dispatcher",
       [](Layout& l) { l.dispatcher = l.dispatcher == Dispatcher::alltoall ? Dispatcher::hybridep : Dispatcher::alltoall; }},
      {"dispatcher_sms", [](Layout& l) { l.dispatcher_sms = 24; }},
      {"cp_comm_type", [](Layout& l) { l.cp_comm_type = CpCommType::all_gather; }},
      {"graphs of everything",
       [](Layout& l) {
         l.cuda_graph = {CudaGraphImpl::full_iteration, {}};
       }},
      {"local graphs",
       [](Layout& l) {
         l.cuda_graph = {CudaGraphImpl::local, {}};
       }},
      {"graph scopes",
       [](Layout& l) {
         l.cuda_graph = {CudaGraphImpl::transformer_engine, {GraphScope::attn}};
       }},
      {"no graphs", [](Layout& l) { l.cuda_graph = {}; }},
      {"grad_reduce", [](Layout& l) { l.overlap.grad_reduce = !l.overlap.grad_reduce; }},
      {"param_gather", [](Layout& l) { l.overlap.param_gather = !l.overlap.param_gather; }},
      {"tp_comm", [](Layout& l) { l.overlap.tp_comm = !l.overlap.tp_comm; }},
      {"expert_alltoall", [](Layout& l) { l.overlap.expert_alltoall = !l.overlap.expert_alltoall; }},
      {"delay_wgrad", [](Layout& l) { l.overlap.delay_wgrad = !l.overlap.delay_wgrad; }},
      {"optimizer_fraction", [](Layout& l) { l.offload.optimizer_fraction = 0.5 - l.offload.optimizer_fraction; }},
      {"activation_modules", [](Layout& l) { l.offload.activation_modules = {OffloadModule::core_attn}; }},
      {"activation_layers", [](Layout& l) { l.offload.activation_layers = 1 - l.offload.activation_layers; }},
  };
  return all;
}

bool same(const Quick& a, const Quick& b) {
  return a.step_time_s == b.step_time_s && a.peak == b.peak && a.fits == b.fits && a.peak_stage == b.peak_stage &&
         a.peak_moment == b.peak_moment && a.bottleneck == b.bottleneck;
}

}  // namespace

TEST_CASE("a bound passes at the layout's memory and stops a byte below") {
  for (const char* file : kScenarios) {
    Case c(file);
    Estimator::Workspace other;
    for (const Layout& layout : test::valid_layouts(c.scenario, 200, 11)) {
      const Bytes peak = c.peak_of(layout);
      if (!c.estimator.quick_bound(peak, layout, other)) FAIL_CHECK("stopped: " << file << ' ' << layout_id(layout));
      if (c.estimator.quick_bound(peak - Bytes(1), layout, other)) FAIL_CHECK("passed: " << file << ' ' << layout_id(layout));
    }
  }
}

TEST_CASE("whatever modules are recomputed, a bound that stops a layout is right for it") {
  for (const char* file : kScenarios) {
    Case c(file);
    Estimator::Workspace other;
    for (Layout layout : test::valid_layouts(c.scenario, 60, 11)) {
      if (layout.recompute.granularity == RecomputeGranularity::full) continue;
      for (std::uint32_t bits = 0; bits < 1u << kCount<RecomputeModule>; bits += 7) {
        layout.recompute = {RecomputeGranularity::selective, EnumSet<RecomputeModule>::from_bits(bits)};
        const Bytes peak = c.peak_of(layout);
        if (!c.estimator.quick_bound(peak, layout, other)) FAIL_CHECK("stopped: " << file << ' ' << layout_id(layout));
      }
    }
  }
}

TEST_CASE("recomputing a module more never needs more memory") {
  for (const char* file : kScenarios) {
    Case c(file);
    int compared = 0;
    for (const Layout& layout : test::valid_layouts(c.scenario, 150, 11)) {
      if (layout.recompute.granularity == RecomputeGranularity::full) continue;
      for (std::size_t m = 0; m < kCount<RecomputeModule>; ++m) {
        Layout frugal = layout;
        frugal.recompute = {RecomputeGranularity::selective, modules_of(layout.recompute)};
        frugal.recompute.modules.insert(RecomputeModule(m));
        ++compared;
        const Bytes before = c.peak_of(layout), after = c.peak_of(frugal);
        if (after > before) FAIL_CHECK(file << ' ' << layout_id(layout) << " + " << name_of(RecomputeModule(m)));
      }
    }
    CHECK(compared > 100);
  }
}

TEST_CASE("a larger micro-batch never needs less memory") {
  for (const char* file : kScenarios) {
    Case c(file);
    int compared = 0;
    for (const Layout& layout : test::valid_layouts(c.scenario, 200, 11)) {
      Layout larger = layout;
      larger.micro_batch_size *= 2;
      if (!c.allows(larger)) continue;
      ++compared;
      const Bytes before = c.peak_of(layout), after = c.peak_of(larger);
      if (after < before) FAIL_CHECK(file << ' ' << layout_id(layout));
    }
    CHECK(compared > 100);
  }
}

// So it is no bound: a sweep may not conclude from one micro-batch size that another does not fit. Its bounds are taken
// anew for every one of them, which costs a look at each placement.
TEST_CASE("but where FSDP2 keeps whole gradients between micro-batches, one large one needs less than two small ones") {
  Case c("llama-3-70b-gb200.json");
  Job job = c.scenario.job;
  job.stack.framework = Framework::torch_fsdp2;
  job.stack.gradient_sync_every_microbatch = false;
  job.training.global_batch_size = 2 * job.gpus;
  const Estimator estimator(job);
  Layout two_small;
  two_small.sharding = Sharding::full_torch;
  two_small.recompute = {.granularity = RecomputeGranularity::full};
  Layout one_large = two_small;
  one_large.micro_batch_size = 2;
  Estimator::Workspace workspace;
  CHECK(estimator.quick(one_large, workspace).peak < estimator.quick(two_small, workspace).peak);
}

TEST_CASE("a workspace that has seen a neighbour gives the same numbers as a fresh one") {
  for (const char* file : kScenarios) {
    Case c(file);
    int compared = 0;
    for (const Layout& layout : test::valid_layouts(c.scenario, 12, 11)) {
      const Quick quick = c.estimator.quick(layout, c.workspace);
      for (const auto& [field, change] : changes()) {
        Layout neighbour = layout;
        change(neighbour);
        if (!c.allows(neighbour)) continue;
        ++compared;
        Estimator::Workspace fresh;
        const Quick alone = c.estimator.quick(neighbour, fresh), after = c.estimator.quick(neighbour, c.workspace);
        const Quick back = c.estimator.quick(layout, c.workspace);
        CAPTURE(layout_id(layout));
        CAPTURE(field);
        CHECK(same(alone, after));
        CHECK(same(back, quick));
      }
    }
    CHECK(compared > 60);
  }
}
