// SPDX-License-Identifier: Apache-2.0
// Whatever layout the rules let through, on any model, cluster and software: it has finite figures, the same from both entries.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"

using namespace shardfit;

namespace {

constexpr int kJobsAModel = 30, kLayoutsAJob = 400, kEstimatesAJob = 4;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + engine_() % values.size());
  }
  template <class E>
  E any() {
    return E(engine_() % kCount<E>);
  }
  bool rarely() { return engine_() % 6 == 0; }
  template <class E>
  EnumSet<E> some() {
    EnumSet<E> set;
    for (std::size_t i = 0; i < kCount<E>; ++i)
      if (engine_() % 4 == 0) set.insert(E(i));
    return set;
  }
  const std::string& one_of(const std::vector<std::string>& values) { return values[engine_() % values.size()]; }

 private:
  std::mt19937 engine_;
};

Job random_job(const std::string& model, Random& random) {
  Job job;
  job.model = io::load_model(model);
  job.hardware = io::load_hardware(random.one_of(io::list_hardware()));
  job.stack = io::load_stack(random.one_of(io::list_stacks()));
  job.time = io::load_coefficients();
  job.gpus = random.one_of({1, 2, 6, 8, 16, 64, 72, 96, 144, 512});
  TrainingSpec& t = job.training;
  t.task = random.one_of({Task::pretrain, Task::sft, Task::lora});
  if (t.task == Task::lora) t.lora = LoraSpec{};
  t.precision = random.any<Precision>();
  t.sequence_length = random.one_of({512, 1000, 4096, 32768});
  t.global_batch_size = random.one_of({1, 6, 64, 720, 1024});
  t.routing = random.any<Routing>();
  if (job.model.vision) t.vision = VisionWorkload{};
  if (job.model.vision && random.rarely()) t.frozen = {ModelPart::vision_model};
  return job;
}

Layout random_layout(Random& random) {
  Layout l;
  l.tp = random.one_of({1, 1, 2, 3, 4, 8});
  l.cp = random.one_of({1, 1, 1, 2, 4});
  l.pp = random.one_of({1, 1, 2, 3, 4, 8});
  l.vpp = random.one_of({1, 1, 2, 5});
  l.ep = random.one_of({1, 2, 4, 8, 64});
  l.etp = random.one_of({1, 1, 1, 2});
  l.micro_batch_size = random.one_of({1, 1, 2, 3, 8});
  l.sequence_parallel = l.tp > 1;
  l.use_tp_pp_dp_mapping = random.rarely();
  l.sharding = random.any<Sharding>();
  l.optimizer_instances = random.one_of({1, 1, 1, 2, 4});
  l.fsdp_double_buffer = random.rarely();
  l.dispatcher = random.any<Dispatcher>();
  l.cp_comm_type = random.any<CpCommType>();
  l.recompute.granularity = random.any<RecomputeGranularity>();
  if (l.recompute.granularity == RecomputeGranularity::selective) l.recompute.modules = random.some<RecomputeModule>();
  l.recompute.method = random.any<RecomputeMethod>();
  l.recompute.num_layers = random.one_of({1, 2, 7});
  if (random.rarely()) l.cuda_graph.impl = random.any<CudaGraphImpl>();
  if (l.cuda_graph.impl == CudaGraphImpl::transformer_engine) l.cuda_graph.scopes = random.some<GraphScope>();
  l.overlap = {.grad_reduce = !random.rarely(),
               .param_gather = !random.rarely(),
               .tp_comm = random.rarely(),
               .expert_alltoall = random.rarely(),
               .delay_wgrad = random.rarely()};
  if (random.rarely()) l.offload.optimizer_fraction = random.one_of({0.25, 1.0});
  if (random.rarely()) l.offload.activation_modules = random.some<OffloadModule>();
  if (random.rarely()) l.split = {SplitKind::first_last, random.one_of({1, 3, 9}), random.one_of({1, 2, 11}), false, false, ""};
  return l;
}

}  // namespace

TEST_CASE("every layout that the rules let through has finite figures") {
  setenv("SHARDFIT_DATA_DIR", SHARDFIT_SOURCE_DIR, 1);
  Random random(11);
  int allowed = 0;
  for (const std::string& model : io::list_models())
    for (int j = 0; j < kJobsAModel; ++j) {
      const Job job = random_job(model, random);
      const Estimator estimator(job);
      Estimator::Workspace workspace;
      int estimates = 0;
      for (int i = 0; i < kLayoutsAJob; ++i) {
        const Layout layout = random_layout(random);
        if (first_violation(job, layout)) continue;
        ++allowed;
        CAPTURE(model);
        CAPTURE(job.hardware.name);
        CAPTURE(job.stack.name);
        CAPTURE(job.gpus);
        CAPTURE(layout_id(layout));
        const Quick quick = estimator.quick(layout, workspace);
        CHECK(std::isfinite(quick.step_time_s));
        CHECK(quick.step_time_s > 0);
        CHECK(quick.peak.value > 0);
        if (++estimates > kEstimatesAJob) continue;
        const Estimate full = estimator.evaluate(layout);
        CHECK(full.step_time_s == quick.step_time_s);
        CHECK(full.verdict.need == quick.peak);
        CHECK(full.verdict.p_oom >= 0);
        CHECK(full.verdict.p_oom <= 1);
      }
    }
  CHECK(allowed > 3000);
}
