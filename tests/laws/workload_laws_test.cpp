// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/search/measure.hpp"

using namespace shardfit;

namespace {

Scenario flagship() { return io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-gb200.json"); }

Layout fsdp() {
  Layout l;
  l.ep = 8;
  l.micro_batch_size = 4;
  l.sharding = Sharding::full;
  l.recompute.granularity = RecomputeGranularity::full;
  return l;
}

Estimate with(Scenario s, const VisionWorkload& workload, const Layout& layout = fsdp()) {
  s.job.training.vision = workload;
  return Estimator(s.job).evaluate(layout);
}

VisionWorkload preset(const char* name) { return io::load_workload(name).workload; }

}  // namespace

TEST_CASE("the four throughputs agree with one another") {
  const Scenario s = flagship();
  const TrainingSpec& t = s.job.training;
  for (const std::string& name : io::list_workloads()) {
    CAPTURE(name);
    const VisionWorkload w = preset(name.c_str());
    const Estimate e = with(s, w);
    CHECK(e.samples_per_s * t.sequence_length == doctest::Approx(e.tokens_per_s_per_gpu * s.job.gpus));  // one a row
    CHECK(e.useful_tokens_per_s_per_gpu <= e.tokens_per_s_per_gpu);
    if (e.sample.tokens_per_sample > 0)
      CHECK(e.useful_tokens_per_s_per_gpu / e.tokens_per_s_per_gpu ==
            doctest::Approx(std::min(1.0, e.sample.tokens_per_sample / t.sequence_length)));
    CHECK(e.images_per_s == doctest::Approx(e.samples_per_s * (w.mock ? 0 : w.images_per_sample)));
    CHECK((e.model_tflops_per_gpu_with_vision > e.model_tflops_per_gpu) == !w.mock);
  }
}

TEST_CASE("a sweep's useful tokens are those of the estimate") {
  Scenario s = flagship();
  s.job.training.vision = preset("cord-receipts");
  const Estimator estimator(s.job);
  const Metric wanted[] = {Metric::useful_tokens_per_s};
  const Goals goals;
  const Measure measure(s.job, estimator, goals, wanted);
  Estimator::Workspace workspace;
  const Quick quick = estimator.quick(fsdp(), workspace);
  CHECK(measure.value(Metric::useful_tokens_per_s, fsdp(), quick, workspace) ==
        doctest::Approx(estimator.evaluate(fsdp()).useful_tokens_per_s_per_gpu * s.job.gpus));
}

TEST_CASE("packed rows hold more samples and waste less") {
  Scenario s = flagship();
  const VisionWorkload w = preset("cord-receipts");
  const Estimate loose = with(s, w);
  s.job.training.packing = Packing::in_batch;
  s.job.training.packing_efficiency = 0.93;
  const Estimate packed = with(s, w);
  CHECK(packed.sample.samples_per_row > 2);
  CHECK(packed.samples_per_s > 2 * loose.samples_per_s);
  CHECK(packed.useful_tokens_per_s_per_gpu > 2 * loose.useful_tokens_per_s_per_gpu);
  CHECK(packed.images_per_s == doctest::Approx(packed.samples_per_s * w.images_per_sample));
}

TEST_CASE("more images, a wider spread and a tower that trains never come free") {
  Scenario s = flagship();
  VisionWorkload w{.visual_tokens_per_image = 400, .spread = 0.0};
  const Estimate even = with(s, w);
  CHECK(even.sample.slowest_rank == 1);
  CHECK(even.sample.fullest_microbatch == 1);
  w.spread = 0.8;
  const Estimate spread = with(s, w);
  CHECK(spread.sample.slowest_rank > 1);
  CHECK(spread.step_time_s > even.step_time_s);
  CHECK(spread.verdict.need >= even.verdict.need);
  w.visual_tokens_per_image = 800;
  const Estimate more = with(s, w);
  CHECK(more.step_time_s > spread.step_time_s);
  CHECK(more.verdict.need >= spread.verdict.need);
  s.job.training.frozen = {ModelPart::vision_model, ModelPart::vision_projection};
  const Estimate frozen = with(s, w);
  CHECK(frozen.step_time_s < more.step_time_s);
  CHECK(frozen.verdict.need < more.verdict.need);
  w.mock = true;
  CHECK(with(s, w).step_time_s < frozen.step_time_s);
}

TEST_CASE("rows that nothing pads run at their own length, at the same memory") {
  Scenario s = flagship();
  const VisionWorkload w = preset("cord-receipts");
  const Estimate padded = with(s, w);
  CHECK(padded.sample.executed_sequence == s.job.training.sequence_length);
  s.job.stack.vision_pads_when_ep = false;
  const Estimate ragged = with(s, w);
  CHECK(ragged.sample.executed_sequence < s.job.training.sequence_length);
  CHECK(ragged.sample.executed_sequence >= ragged.sample.tokens_per_sample);
  CHECK(ragged.step_time_s < padded.step_time_s);
  CHECK(ragged.verdict.need == padded.verdict.need);
  CHECK(ragged.warnings.size() == padded.warnings.size() + 1);
}

TEST_CASE("vision data parallelism shares images over context-parallel ranks") {
  Scenario s = flagship();
  Layout l = fsdp();
  l.sharding = Sharding::optimizer;
  l.tp = 2;
  l.cp = 2;
  l.sequence_parallel = true;
  const VisionWorkload w{.visual_tokens_per_image = 800, .spread = 0.8};
  const Estimate all = with(s, w, l);
  s.job.stack.vision_dp_when_cp = true;
  const Estimate shared = with(s, w, l);
  CHECK(shared.sample.visual_tokens_per_microbatch == doctest::Approx(all.sample.visual_tokens_per_microbatch / 2));
  CHECK(shared.step_time_s < all.step_time_s);
  CHECK(shared.images_per_s * shared.step_time_s == doctest::Approx(all.images_per_s * all.step_time_s));
}
