// SPDX-License-Identifier: Apache-2.0
#include "shardfit/layout/stage_plan.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "layout/jobs.hpp"
#include "shardfit/layout/rules.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

Job job_of(int layers, int mtp = 0) {
  Job job = dense_job();
  job.model.text.num_hidden_layers = layers;
  job.model.text.layers.assign(std::size_t(layers), BlockRef{0, 0});
  return mtp > 0 ? with_mtp(job, mtp) : job;
}

Layout pipeline(int pp, int vpp, PipelineSplit split = {}) {
  Layout layout;
  layout.pp = pp;
  layout.vpp = vpp;
  layout.split = std::move(split);
  return layout;
}

PipelineSplit text_split(SplitKind kind, std::string text) {
  PipelineSplit split;
  split.kind = kind;
  split.text = std::move(text);
  return split;
}
PipelineSplit string_split(std::string text) { return text_split(SplitKind::layout_string, std::move(text)); }

PipelineSplit first_last(int first, int last) {
  PipelineSplit split;
  split.kind = SplitKind::first_last;
  split.first_stage_layers = first;
  split.last_stage_layers = last;
  return split;
}

PipelineSplit accounting(bool embedding, bool loss) {
  PipelineSplit split;
  split.kind = SplitKind::accounting;
  split.account_for_embedding = embedding;
  split.account_for_loss = loss;
  return split;
}

std::vector<int> layer_counts(const StagePlan& plan) {
  std::vector<int> counts;
  for (const Chunk& chunk : plan.chunks) counts.push_back(chunk.num_layers);
  return counts;
}

std::vector<int> planned(const Job& job, const Layout& layout) {
  StagePlan plan;
  return make_stage_plan(job, layout, plan) ? layer_counts(plan) : std::vector<int>{};
}

}  // namespace

TEST_CASE("an even split") {
  CHECK(planned(job_of(16), pipeline(4, 2)) == std::vector{2, 2, 2, 2, 2, 2, 2, 2});
  CHECK(planned(job_of(17), pipeline(4, 2)).empty());
}

TEST_CASE("first and last stage; each rank's layers are cut in vpp chunks") {
  CHECK(planned(job_of(40), pipeline(2, 1, first_last(17, 23))) == std::vector{17, 23});
  CHECK(planned(job_of(94), pipeline(8, 1, first_last(10, 12))) == std::vector{10, 12, 12, 12, 12, 12, 12, 12});
  CHECK(planned(job_of(14), pipeline(4, 2, first_last(2, 0))) == std::vector{1, 2, 2, 2, 1, 2, 2, 2});
  CHECK(planned(job_of(14), pipeline(4, 2, first_last(0, 2))) == std::vector{2, 2, 2, 1, 2, 2, 2, 1});
  CHECK(planned(job_of(15), pipeline(4, 1, first_last(2, 0))).empty());  // 13 over 3
  CHECK(planned(job_of(40), pipeline(1, 1, first_last(17, 23))).empty());
}

TEST_CASE("embedding and loss counted as layers: Qwen3-235B's 94 over 4 x 12, Llama-3.1-405B's 126 over 8 x 8") {
  std::vector<int> qwen = planned(job_of(94), pipeline(4, 12, accounting(true, true)));
  REQUIRE(qwen.size() == 48);
  CHECK(qwen.front() == 1);
  CHECK(qwen.back() == 1);
  CHECK(qwen[1] == 2);
  std::vector<int> llama = planned(job_of(126), pipeline(8, 8, accounting(true, true)));
  CHECK(llama.front() == 1);
  CHECK(llama[7] == 2);
  CHECK(planned(job_of(94), pipeline(4, 12, accounting(true, false))).empty());
}

TEST_CASE("a layout string puts layers and MTP where it says") {
  StagePlan plan;
  REQUIRE(make_stage_plan(job_of(61, 1), pipeline(8, 2, string_split("Et*4|(t*4|)*14tmL")), plan));
  CHECK(plan.at(0, 0) == Chunk{0, 4, true, false, false, 0});
  CHECK(plan.at(0, 1).first_layer == 32);
  CHECK(plan.at(7, 1) == Chunk{60, 1, false, true, false, 1});
  CHECK(plan.layers_on(7) == 5);

  REQUIRE(make_stage_plan(job_of(61, 1), pipeline(8, 4, string_split("Et*3|(tt|)*29m|L")), plan));
  CHECK(plan.at(6, 3) == Chunk{61, 0, false, false, false, 1});  // MTP alone, before the loss
  CHECK(plan.at(7, 3) == Chunk{61, 0, false, true, false, 0});
}

TEST_CASE("published layout strings have the layers and parts of their models") {
  struct Published {
    const char* text;
    int layers, mtp, pp, vpp;
  };
  const Published published[] = {
      {"Et*4|(t*4|)*14tL", 61, 0, 16, 1},    {"Et*4|(tttt|)*14tmL", 61, 1, 4, 4},
      {"Et*4|(t*7|)*5t*8|tmL", 48, 1, 2, 4}, {"Et*2|(t*2|)*34,t*3|(t*2|)*3,tL", 80, 0, 8, 5},
      {"Et*8|(t*8|)*6t*5mL", 61, 1, 8, 1},   {"Et*20|t*20mL", 40, 1, 2, 1},
      {"Et*21|t*19mL", 40, 1, 2, 1},         {"Et|(tt|)*6mL", 13, 1, 2, 4},
      {"Et*2|(tt|)*5t|tmL", 14, 1, 4, 2},    {"Et*3|(tt|)*6L", 15, 0, 2, 4},
  };
  for (const Published& p : published) {
    CAPTURE(p.text);
    const Layout layout = pipeline(p.pp, p.vpp, string_split(p.text));
    const Job job = job_of(p.layers, p.mtp);
    StagePlan plan;
    CHECK(make_stage_plan(job, layout, plan));
    CHECK(implied_vpp(layout.split, p.pp) == p.vpp);
    for (const Violation& v : all_violations(job, layout)) {
      const std::string_view code = rules()[std::size_t(v.rule)].code;
      CAPTURE(code);
      CHECK(code.substr(0, 13) != "layout_string");
    }
  }
}

TEST_CASE("layout strings are written out as Megatron reads them") {
  using Parts = std::vector<std::string>;
  CHECK(*expand_layout_string("Et*2|(tt|)*2tL") == Parts{"Ett", "tt", "tt", "tL"});
  CHECK(*expand_layout_string("Ettt|(tt|)*3,m|L") == Parts{"Ettt", "tt", "tt", "tt", "m", "L"});
  CHECK(*expand_layout_string("E|(|t)*2,L") == Parts{"E", "", "t", "tL"});    // empty parts are legal
  CHECK(*expand_layout_string("Et|(tt|)*2") == Parts{"Et", "tt", "tt", ""});  // a bar at the end opens a part
  CHECK(*expand_layout_string("E((t*2|)*2m|)*2L") == Parts{"Ett", "tt", "m", "tt", "tt", "m", "L"});
  CHECK(*expand_layout_string("E|*3L") == Parts{"E", "", "", "L"});
  CHECK(*expand_layout_string("Et*0L") == Parts{"EL"});
  CHECK(*expand_layout_string("Et*12L") == Parts{"E" + std::string(12, 't') + "L"});
}

TEST_CASE("malformed layout strings say why") {
  std::string why;
  for (const char* text :
       {"Etx", "E(tL", "Et)L", "*3L", "Et*L", "Et*", "Et*999999999L", "E((t*9999)*9999)*9999L", "E t", "E(()*99999)*99999L"}) {
    CAPTURE(text);
    why.clear();
    CHECK_FALSE(expand_layout_string(text, &why));
    CHECK_FALSE(why.empty());
  }
}

TEST_CASE("a hybrid pattern cuts at its bars; without bars the stages are even") {
  const Job job = hybrid_job();
  const auto split = [](const char* text) { return text_split(SplitKind::hybrid_pattern, text); };
  CHECK(planned(job, pipeline(2, 1, split("M-M|*M-M*"))) == std::vector{3, 5});
  CHECK(planned(job, pipeline(2, 2, split("M-|M*|M-|M*"))) == std::vector{2, 2, 2, 2});
  CHECK(planned(job, pipeline(4, 1, split("M-M*M-M*"))) == std::vector{2, 2, 2, 2});
  CHECK(planned(job, pipeline(4, 1, split("M-M*|M-M*"))).empty());
  CHECK(planned(job, pipeline(2, 1, split("M-M*|M-M"))).empty());
  StagePlan plan;
  REQUIRE(make_stage_plan(with_mtp(job, 2), pipeline(2, 1, split("M-M*|M-M*/MM/MM")), plan));
  CHECK(plan.chunks.back().mtp_layers == 2);
  CHECK(implied_vpp(split("M-|M*|M-|M*/M"), 2) == 2);
  CHECK(implied_vpp(split("M-M*M-M*"), 2) == 0);
}

TEST_CASE("laws: layers add up, run through the chunks in order, one embedding and one head") {
  const Job job = with_mtp(job_of(24), 1);
  const Layout layouts[] = {pipeline(1, 1),
                            pipeline(4, 3),
                            pipeline(4, 2, first_last(4, 8)),
                            pipeline(5, 1, accounting(true, false)),
                            pipeline(13, 2, accounting(true, true)),
                            pipeline(3, 2, string_split("Et*5|t*4|t*5|t*5|t*5|mL"))};
  for (const Layout& layout : layouts) {
    StagePlan plan;
    REQUIRE(make_stage_plan(job, layout, plan));
    CHECK(plan.chunks.size() == std::size_t(layout.pp * layout.vpp));
    int next = 0, embeddings = 0, heads = 0, mtp = 0, over_stages = 0;
    for (const Chunk& chunk : plan.chunks) {
      CHECK(chunk.first_layer == next);
      next += chunk.num_layers;
      embeddings += chunk.embedding;
      heads += chunk.head;
      mtp += chunk.mtp_layers;
    }
    for (int stage = 0; stage < layout.pp; ++stage) over_stages += plan.layers_on(stage);
    CHECK(next == 24);
    CHECK(over_stages == 24);
    CHECK(embeddings == 1);
    CHECK(heads == 1);
    CHECK(mtp == 1);
    CHECK(plan.at(0, 0).embedding);
    CHECK(plan.at(layout.pp - 1, layout.vpp - 1).head);
  }
}

TEST_CASE("the tower is on chunk 0, unless the run is text only") {
  Job job = vision_job();
  StagePlan plan;
  REQUIRE(make_stage_plan(job, pipeline(2, 2), plan));
  CHECK(plan.at(0, 0).vision);
  CHECK_FALSE(plan.at(0, 1).vision);
  CHECK_FALSE(plan.at(1, 0).vision);
  job.training.text_only = true;
  REQUIRE(make_stage_plan(job, pipeline(2, 2), plan));
  CHECK_FALSE(plan.at(0, 0).vision);
}

TEST_CASE("a plan that has grown is reused in place") {
  const Job job = job_of(16);
  StagePlan plan;
  REQUIRE(make_stage_plan(job, pipeline(8, 2), plan));
  const Chunk* before = plan.chunks.data();
  REQUIRE(make_stage_plan(job, pipeline(2, 4), plan));
  CHECK(plan.chunks.data() == before);
}

TEST_CASE("torch tools share layers out nearly evenly") {
  CHECK(planned(torch_tools(job_of(10)), pipeline(4, 1)) == std::vector{3, 3, 2, 2});
  CHECK(planned(torch_tools(job_of(3)), pipeline(4, 1)).empty());
}

TEST_CASE("an unstated split is one that Megatron takes") {
  CHECK(assumed_split(job_of(16), 4, 2)->kind == SplitKind::uniform);
  CHECK(assumed_split(job_of(94), 4, 12)->kind == SplitKind::accounting);
  // Bridge's own layouts of DeepSeek-V3: 61 layers, one MTP layer.
  CHECK(planned(job_of(61, 1), pipeline(8, 2, *assumed_split(job_of(61, 1), 8, 2))) ==
        planned(job_of(61, 1), pipeline(8, 2, string_split("Et*4|(t*4|)*14tmL"))));
  CHECK(planned(job_of(61, 1), pipeline(4, 1, *assumed_split(job_of(61, 1), 4, 1))) == std::vector{16, 16, 16, 13});
  CHECK_FALSE(assumed_split(job_of(3), 4, 1));
  for (int layers : {43, 61, 62, 94, 126})
    for (int pp : {2, 4, 8, 16})
      for (int vpp : {1, 2}) {
        const Job job = job_of(layers, 1);
        Layout layout = pipeline(pp, vpp, *assumed_split(job, pp, vpp));
        CHECK_FALSE(planned(job, layout).empty());
        for (const Violation& v : all_violations(job, layout)) {
          const RuleInfo& rule = rules()[std::size_t(v.rule)];
          const bool about_split = rule.code.find("layout_string") != rule.code.npos || rule.code.find("divides") == 0 ||
                                   rule.code == "pp_divides_layers";
          CHECK_FALSE(about_split);
        }
      }
}
