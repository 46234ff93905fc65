// SPDX-License-Identifier: Apache-2.0
#include "workload/sample.hpp"

#include <doctest/doctest.h>

#include "workload/image_tokens.hpp"

using namespace shardfit;
using namespace shardfit::workload;

namespace {

/// A tower of the Qwen3-VL kind: patches of 16, two frames a patch, 2x2 merged.
VisionSpec tower() {
  VisionSpec v;
  v.patch_size = 16;
  v.temporal_patch_size = v.temporal_merge = 2;
  v.text_tokens_per_image = 2;
  v.merger.merge_size = 2;
  v.resolution.resize_multiple = 32;
  v.resolution.min_pixels = 65'536;
  v.resolution.max_pixels = 16'777'216;
  return v;
}

Job job_with(double text_tokens) {
  Job job;
  job.training.sequence_length = 4096;
  job.model.family = "qwen3_vl_moe";
  job.training.vision = VisionWorkload{.spread = 0.0, .sizes = {{640, 480}}, .text_tokens = text_tokens};
  return job;
}

}  // namespace

TEST_CASE("a sample of one photo: 300 visual tokens, two markers and its text") {
  const SampleLoad load = sample_load(tower(), {.sizes = {{640, 480}}, .text_tokens = 35});
  CHECK(load.visual_tokens == 300);
  CHECK(load.patches == 1200);
  CHECK(load.tokens == 337);
  CHECK(load.visual_spread == 0);
}

TEST_CASE("two sizes: mean and spread of the mixture") {
  // 300 tokens and 1080 tokens, half each: mean 690, deviation 390.
  const SampleLoad load = sample_load(tower(), {.sizes = {{640, 480, 1}, {864, 1296, 1}}});
  CHECK(load.visual_tokens == doctest::Approx((300 + 1080) / 2.0));
  CHECK(load.visual_spread == doctest::Approx(390.0 / 690));
  // Four pictures a sample: half the spread; a number that varies adds its own.
  CHECK(sample_load(tower(), {.images_per_sample = 4, .sizes = {{640, 480, 1}, {864, 1296, 1}}}).visual_spread ==
        doctest::Approx(390.0 / 690 / 2));
  CHECK(sample_load(tower(), {.images_per_sample = 4, .images_spread = 0.5, .sizes = {{640, 480}}}).visual_spread ==
        doctest::Approx(0.5));
}

TEST_CASE("a spread of sizes carries over to tokens, but limits cut it") {
  const SampleLoad free = sample_load(tower(), {.sizes = {{1024, 1024}}, .size_spread = 0.5});
  CHECK(free.visual_tokens == doctest::Approx(1024).epsilon(0.03));
  CHECK(free.visual_spread == doctest::Approx(0.5).epsilon(0.1));
  const SampleLoad cut = sample_load(
      tower(), {.sizes = {{1024, 1024}}, .size_spread = 0.5, .min_pixels = 200'704, .max_pixels = 1'003'520});
  CHECK(cut.visual_tokens < 980);
  CHECK(cut.visual_spread < 0.6 * free.visual_spread);
}

TEST_CASE("a clip: one step for two frames, attention inside a step") {
  const VisualTokens clip = visual_tokens(tower(), {640, 352, 16, 0, 0});
  CHECK(clip.steps == 8);
  CHECK(clip.tokens == 8 * 20 * 11);
  CHECK(clip.patches == 4 * clip.tokens);
  CHECK(clip.patches_squared == doctest::Approx(8 * 880.0 * 880.0));
  // Frames are held to 768 tokens, whatever their size; long clips share 115,200.
  CHECK(visual_tokens(tower(), {3840, 2160, 2, 0, 0}).tokens <= 768);
  CHECK(visual_tokens(tower(), {3840, 2160, 768, 0, 0}).tokens <= 115'200);
}

TEST_CASE("the host loops over places: frames of a clip share theirs") {
  CHECK(visual_tokens(tower(), {640, 352, 16, 0, 0}).positions == 880);
  CHECK(visual_tokens(tower(), {640, 352}).positions == 880);
}

TEST_CASE("frames that are averaged after the tower attend together") {
  VisionSpec v = tower();
  v.temporal_patch_size = 1;
  v.temporal_merge = 4;
  const VisualTokens clip = visual_tokens(v, {640, 352, 16, 0, 0});
  CHECK(clip.steps == 4);
  CHECK(clip.tokens == 4 * 220);
  CHECK(clip.patches == 16 * 880);
  CHECK(clip.patches_squared == doctest::Approx(4 * (4 * 880.0) * (4 * 880.0)));
}

TEST_CASE("packed rows hold many samples") {
  TrainingSpec t;
  t.sequence_length = 4096;
  const SampleLoad sample = sample_load(tower(), {.sizes = {{640, 480}}, .text_tokens = 98});
  CHECK(sample.tokens == 400);
  CHECK(samples_per_row(t, sample) == 1);
  CHECK(useful_share(t, sample) == doctest::Approx(400.0 / 4096));
  t.packing = Packing::in_batch;
  t.packing_efficiency = 0.9;
  CHECK(samples_per_row(t, sample) == doctest::Approx(4096 * 0.9 / 400));
  CHECK(useful_share(t, sample) == doctest::Approx(0.9));
}

TEST_CASE("rows are padded to full length for pp, and for ep since 2026-04-13") {
  Job job = job_with(98);
  const SampleLoad sample = sample_load(tower(), *job.training.vision);
  Layout layout;
  CHECK(executed_sequence(job, layout, sample, 1) == 400);
  layout.ep = 8;
  CHECK(executed_sequence(job, layout, sample, 1) == 4096);
  job.stack.vision_pads_when_ep = false;
  CHECK(executed_sequence(job, layout, sample, 1) == 400);
  layout.tp = 8;
  CHECK(executed_sequence(job, layout, sample, 1) == 400);  // a multiple of 16
  layout.dispatcher = Dispatcher::hybridep;                 // wants equally many tokens of every rank of a group:
  CHECK(executed_sequence(job, layout, sample, 1) == 400);  // eight ranks of one replica have them
  layout.ep = 16;
  CHECK(executed_sequence(job, layout, sample, 1) == 4096);  // two replicas
  layout.ep = 8;
  layout.dispatcher = Dispatcher::alltoall;
  layout.pp = 2;
  CHECK(executed_sequence(job, layout, sample, 1) == 4096);
  // The step of models whose tower is a published module has no such switch.
  layout.pp = 1;
  job.stack.vision_pads_when_ep = true;
  CHECK(executed_sequence(job, layout, sample, 1) == 4096);
  job.model.family = "glm4v_moe";
  CHECK(executed_sequence(job, layout, sample, 1) == 400);
}

TEST_CASE("the longest of many rows decides, up to full length; unknown text means full rows") {
  Job job = job_with(1000);
  job.training.vision->text_spread = 0.5;
  const SampleLoad sample = sample_load(tower(), *job.training.vision);
  const int one = executed_sequence(job, {}, sample, 1), many = executed_sequence(job, {}, sample, 64);
  CHECK(one < many);
  CHECK(many <= 4096);
  job.training.vision->text_tokens = 0;
  CHECK(executed_sequence(job, {}, sample_load(tower(), *job.training.vision), 1) == 4096);
}
