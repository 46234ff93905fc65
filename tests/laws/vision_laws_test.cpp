// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/spec/tower.hpp"

using namespace shardfit;

namespace {

Scenario flagship() { return io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-gb200.json"); }

/// The flagship's run of another model.
Job job_of(const char* model) {
  Job job = flagship().job;
  job.model = io::load_model(model);
  return job;
}

Layout layout_of(int tp, Recompute recompute = {}) {
  Layout l;
  l.tp = tp;
  l.ep = 8;
  l.sequence_parallel = tp > 1;
  l.recompute = recompute;
  return l;
}

Recompute full(RecomputeMethod method, int layers) { return {RecomputeGranularity::full, {}, method, layers}; }

const Recompute kRecomputes[] = {{},
                                 {RecomputeGranularity::selective, {RecomputeModule::moe_act}, RecomputeMethod::uniform, 1},
                                 full(RecomputeMethod::uniform, 1),
                                 full(RecomputeMethod::block, 9)};

Bytes peak_of(const Estimate& e, MemoryTerm term) {
  Bytes most;
  for (const StageMemory& m : e.memory) most = std::max(most, m.ledger[term]);
  return most;
}

Bytes trained_state(const Estimate& e) {
  return peak_of(e, MemoryTerm::gradients) + peak_of(e, MemoryTerm::exp_avg) + peak_of(e, MemoryTerm::exp_avg_sq);
}

/// Sum of a field over the rows of one part ("encoder", "projector", "decoder").
template <class T>
T sum_of(const Estimate& e, std::string_view part, T ModuleRow::*field) {
  T sum{};
  for (const ModuleRow& row : e.modules)
    if (row.part == part) sum += row.*field;
  return sum;
}

}  // namespace

TEST_CASE("every mix of frozen parts: what is frozen has no state, no gradients, and never costs more") {
  for (const bool lora : {false, true})
    for (const Recompute& recompute : kRecomputes) {
      Job job = flagship().job;
      if (lora) {
        job.training.task = Task::lora;
        job.training.lora = LoraSpec{};
      }
      std::vector<Estimate> by_set;
      for (std::uint32_t bits = 0; bits < 8; ++bits) {
        job.training.frozen = EnumSet<ModelPart>::from_bits(bits);
        by_set.push_back(Estimator(job).evaluate(layout_of(2, recompute)));
      }
      for (std::uint32_t few = 0; few < 8; ++few)
        for (std::uint32_t more = few + 1; more < 8; ++more) {
          if ((few & more) != few) continue;
          CAPTURE(lora);
          CAPTURE(name_of(recompute.granularity));
          CAPTURE(few);
          CAPTURE(more);
          CHECK(by_set[more].step_time_s <= by_set[few].step_time_s);
          CHECK(by_set[more].verdict.need <= by_set[few].verdict.need);
          CHECK(trained_state(by_set[more]) < trained_state(by_set[few]));
        }
    }
}

TEST_CASE("a fully frozen tower keeps nothing for backward and runs forward once, under any recompute") {
  Job job = flagship().job;
  job.training.frozen = {ModelPart::vision_model, ModelPart::vision_projection};
  for (const Recompute& recompute : kRecomputes) {
    CAPTURE(name_of(recompute.granularity));
    const Estimate e = Estimator(job).evaluate(layout_of(2, recompute));
    CHECK(peak_of(e, MemoryTerm::saved_vision).value == 0);
    CHECK(sum_of(e, "encoder", &ModuleRow::saved).value == 0);
    CHECK(sum_of(e, "encoder", &ModuleRow::backward_s) + sum_of(e, "encoder", &ModuleRow::rerun_s) == 0);
    CHECK(sum_of(e, "encoder", &ModuleRow::forward_s) > 0);
  }
}

TEST_CASE("a tower that trains under a frozen decoder: gradients run through it, its weights get none") {
  Job job = flagship().job;
  const Estimate all = Estimator(job).evaluate(layout_of(2));
  job.training.frozen = {ModelPart::language_model};
  const Estimate e = Estimator(job).evaluate(layout_of(2));
  CHECK(sum_of(e, "decoder", &ModuleRow::backward_s) > 0.4 * sum_of(all, "decoder", &ModuleRow::backward_s));
  CHECK(sum_of(e, "decoder", &ModuleRow::backward_s) < 0.8 * sum_of(all, "decoder", &ModuleRow::backward_s));
  CHECK(peak_of(e, MemoryTerm::saved_attention).value > 0);
  CHECK(trained_state(e) < trained_state(all) / 20);
  // Nothing trains below the decoder: the backward pass stops at the first layer that has adapters or weights.
  CHECK(sum_of(e, "encoder", &ModuleRow::backward_s) == sum_of(all, "encoder", &ModuleRow::backward_s));
}

TEST_CASE("LoRA adapts the parts that are not frozen, by the names of their linears") {
  Job job = flagship().job;
  job.training.task = Task::lora;
  job.training.lora = LoraSpec{};
  const auto adapts = [&](ModelPart part) { return training_of(job, part).any(); };
  CHECK(adapts(ModelPart::vision_model));
  CHECK(adapts(ModelPart::vision_projection));
  const Estimate tower = Estimator(job).evaluate(layout_of(2));
  CHECK(sum_of(tower, "encoder", &ModuleRow::backward_s) > 0);
  job.training.lora->target_modules = {"linear_qkv", "linear_proj"};  // mergers have fc1 and fc2 alone
  CHECK(adapts(ModelPart::vision_model));
  CHECK_FALSE(adapts(ModelPart::vision_projection));
  CHECK(Estimator(job).evaluate(layout_of(2)).step_time_s < tower.step_time_s);
  job.training.frozen = {ModelPart::vision_model, ModelPart::vision_projection};
  const Estimate decoder = Estimator(job).evaluate(layout_of(2));
  CHECK(sum_of(decoder, "encoder", &ModuleRow::backward_s) == 0);
  CHECK(sum_of(decoder, "encoder", &ModuleRow::rerun_s) == 0);
  // Published modules have other names, so no adapters.
  job.model = io::load_model("GLM-4.5V");
  job.training.frozen = {};
  CHECK_FALSE(adapts(ModelPart::vision_model));
}

TEST_CASE("a tower of the front end's own layers is split and recomputed as the decoder is; a published one is neither") {
  const auto parameters = [](const Estimate& e) { return double(sum_of(e, "encoder", &ModuleRow::parameters)); };
  const Job own = job_of("Qwen3-VL-30B-A3B"), published = job_of("GLM-4.5V");
  const auto at = [](const Job& job, const Layout& l) { return Estimator(job).evaluate(l); };
  CHECK(parameters(at(own, layout_of(4))) < 0.3 * parameters(at(own, layout_of(1))));
  CHECK(parameters(at(published, layout_of(4))) == parameters(at(published, layout_of(1))));

  const Layout none = layout_of(2), all = layout_of(2, full(RecomputeMethod::uniform, 1));
  CHECK(sum_of(at(own, all), "encoder", &ModuleRow::saved) <
        Bytes(sum_of(at(own, none), "encoder", &ModuleRow::saved).value / 5));
  CHECK(sum_of(at(own, all), "encoder", &ModuleRow::rerun_s) > 0);
  CHECK(sum_of(at(published, all), "encoder", &ModuleRow::saved) == sum_of(at(published, none), "encoder", &ModuleRow::saved));
  CHECK(sum_of(at(published, all), "encoder", &ModuleRow::rerun_s) == 0);

  // Its gradients are averaged over tp once a step.
  const auto averaged = [&](const Job& job, int tp) {
    const Estimate e = at(job, layout_of(tp));
    return std::any_of(e.traffic.begin(), e.traffic.end(),
                       [](const TrafficRow& row) { return row.what == "gradients of the tower, averaged over tp"; });
  };
  CHECK(averaged(published, 4));
  CHECK_FALSE(averaged(published, 1));
  CHECK_FALSE(averaged(own, 4));
  // Megatron does that; tools of torch reduce a tower's gradients with the rest of the sharded module.
  Job torch = published;
  torch.stack = io::load_stack("torch-fsdp2");
  CHECK_FALSE(averaged(torch, 4));

  // Megatron-SWIFT checkpoints published modules whatever the decoder does, if they train.
  Job swift = own;
  swift.stack = io::load_stack("ms-swift");
  CHECK(parameters(at(swift, layout_of(4))) == parameters(at(swift, layout_of(1))));
  CHECK(sum_of(at(swift, none), "encoder", &ModuleRow::rerun_s) > 0);
  swift.training.frozen = {ModelPart::vision_model};
  CHECK(sum_of(at(swift, none), "encoder", &ModuleRow::rerun_s) == 0);
}

TEST_CASE("the tower follows the decoder's method: block recompute reaches its first layers, larger groups keep fewer inputs") {
  const Job job = flagship().job;
  const auto at = [&](const Recompute& r) { return Estimator(job).evaluate(layout_of(2, r)); };
  const auto saved = [&](const Recompute& r) { return sum_of(at(r), "encoder", &ModuleRow::saved); };
  const auto rerun = [&](const Recompute& r) { return sum_of(at(r), "encoder", &ModuleRow::rerun_s); };
  const Recompute every = full(RecomputeMethod::uniform, 1), some = full(RecomputeMethod::block, 9);
  CHECK(saved({}) > saved(some));
  CHECK(saved(some) > saved(every));
  CHECK(rerun(every) == doctest::Approx(3 * rerun(some)));  // 27 layers against 9
  CHECK(saved(full(RecomputeMethod::uniform, 2)) < saved(every));
  CHECK(saved(full(RecomputeMethod::block, 94)) == saved(every));
  // Any selective recompute turns on the tower's attention recompute.
  const Recompute selective{RecomputeGranularity::selective, {RecomputeModule::moe_act}, RecomputeMethod::uniform, 1};
  CHECK(rerun(selective) > 0);
  CHECK(rerun(selective) < 0.5 * rerun(every));
  CHECK(saved(selective) == saved({}));
}

TEST_CASE("context-parallel ranks share out whole images: one image stays where it is, and the others wait") {
  Job job = flagship().job;
  Layout l = layout_of(1);
  l.cp = 2;
  job.training.vision = VisionWorkload{.images_per_sample = 1, .visual_tokens_per_image = 800, .spread = 0.0};
  const auto tower = [&] { return sum_of(Estimator(job).evaluate(l), "encoder", &ModuleRow::forward_s); };
  const double one = tower();
  job.stack.vision_dp_when_cp = true;
  CHECK(tower() == one);
  job.training.vision->images_per_sample = 4;
  const double shared = tower();
  job.stack.vision_dp_when_cp = false;
  const double all = tower();
  CHECK(shared < 0.7 * all);
  CHECK(shared > 0.45 * all);
}
