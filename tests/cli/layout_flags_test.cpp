// SPDX-License-Identifier: Apache-2.0
#include "cli/layout_flags.hpp"

#include <doctest/doctest.h>

#include "io/layout_words.hpp"
#include "report/layout_text.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;
using namespace shardfit::cli;

namespace {

/// A choice with one flag given.
LayoutChoice given(const std::string& field, std::vector<std::string> words) {
  LayoutChoice choice;
  for (const LayoutFlag& flag : layout_flags()) {
    choice.words.emplace_back();
    if (field_name(flag) == field) choice.words.back() = words;
  }
  return choice;
}

Scenario open_scenario() {
  Scenario scenario;
  scenario.file = "x.json";
  scenario.job.gpus = 8;
  scenario.job.training.global_batch_size = 16;
  scenario.base.sequence_parallel = scenario.sequence_parallel_above_tp_1 = true;
  scenario.space.tp = {1, 2, 4};
  scenario.space.recompute = {io::recompute_of("", "none"), io::recompute_of("", "full:uniform:1")};
  return scenario;
}

}  // namespace

TEST_CASE("words of recompute, split and graph read back what reports print") {
  for (const char* word : {"none", "selective:core_attn", "selective:moe_act+layernorm", "full:uniform:1", "full:block:3"})
    CHECK(report::recompute_text(io::recompute_of("--recompute", word)) == word);
  for (const char* word : {"uniform", "first_last:3:2", "accounting:embedding", "accounting:embedding+loss",
                           "layout:Et*2|(tt|)*2tL", "pattern:M-M*|M-"})
    CHECK(report::split_text(io::split_of("--pipeline-split", word)) == word);
  for (const char* word : {"none", "local", "transformer_engine:attn+moe_router", "full_iteration"})
    CHECK(report::cuda_graph_text(io::cuda_graph_of("--cuda-graph", word)) == word);
  CHECK(report::recompute_text(io::recompute_of("--recompute", "full")) == "full:uniform:1");
  CHECK(report::recompute_text(io::recompute_of("--recompute", "moe_act")) == "selective:moe_act");
}

TEST_CASE("a word that is none says what would do") {
  CHECK_THROWS_WITH_AS(io::recompute_of("--recompute", "selective:moe_akt"),
                       "--recompute: got 'moe_akt', expected one of core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, "
                       "shared_experts, gdn_norm_out; did you mean moe_act?",
                       InputError);
  CHECK_THROWS_AS(io::recompute_of("--recompute", "selective"), InputError);
  CHECK_THROWS_AS(io::recompute_of("--recompute", "none:1"), InputError);
  CHECK_THROWS_AS(io::recompute_of("--recompute", "full:uniform:0"), InputError);
  CHECK_THROWS_AS(io::split_of("--pipeline-split", "first_last:3"), InputError);
  CHECK_THROWS_AS(io::split_of("--pipeline-split", "layout:"), InputError);
  CHECK_THROWS_AS(io::cuda_graph_of("--cuda-graph", "te"), InputError);
}

TEST_CASE("several words are several values of an axis") {
  const Scenario scenario = narrowed(open_scenario(), given("tp", {"2", "4"}));
  CHECK(scenario.space.tp == std::vector<int>{2, 4});
  CHECK(space_size(scenario.space) == 4);
  CHECK_THROWS_AS(narrowed(open_scenario(), given("delay-wgrad", {"true", "false"})), InputError);
  CHECK_THROWS_AS(narrowed(open_scenario(), given("tp", {"0"})), InputError);
  CHECK_THROWS_AS(narrowed(open_scenario(), given("tp", {"2x"})), InputError);
}

TEST_CASE("each axis flag sets its field, reads it back and narrows its axis to it") {
  const std::vector<std::pair<std::string, std::string>> words = {
      {"recompute", "full:block:2"}, {"sharding", "full"},       {"pipeline-split", "first_last:1:2"},
      {"dispatcher", "deepep"},      {"cuda-graph", "local"},    {"expert-overlap", "true"},
      {"optimizer-offload", "0.5"},  {"cp-comm-type", "a2a+p2p"}};
  for (const LayoutFlag& flag : layout_flags()) {
    if (!flag.values) continue;
    std::string word = "3";
    for (const auto& [field, text] : words)
      if (field == field_name(flag)) word = text;
    CAPTURE(field_name(flag));
    Layout layout;
    flag.set(layout, word);
    CHECK(flag.current(layout) == word);
    SearchSpace space;
    flag.narrow(space, std::vector<Layout>{layout});
    CHECK(flag.values(space) == std::vector<std::string>{word});
  }
}

TEST_CASE("an open search needs a layout") {
  CHECK_THROWS_WITH_AS(
      choose_layout(open_scenario(), given("", {}), "check", "x.json"),
      "x.json: /search: got 6 layouts (open: tp, recompute), expected one layout for `check`; give --layout ID "
      "from a sweep's CSV, or flags: shardfit check x.json --tp 1 --recompute none",
      InputError);
  CHECK_THROWS_AS(choose_layout(open_scenario(), given("tp", {"1", "2"}), "check", "x.json"), InputError);
}

TEST_CASE("flags choose; what they leave open is assumed and said") {
  const ChosenLayout chosen = choose_layout(open_scenario(), given("tp", {"2"}), "check", "x.json");
  CHECK(chosen.layout.tp == 2);
  CHECK(chosen.layout.sequence_parallel);
  CHECK(chosen.assumed == "not given, so the first of the search: --recompute none");
}

TEST_CASE("a fixed layout without tp keeps the wish for sequence parallelism until a flag gives it tp") {
  Scenario scenario = open_scenario();
  scenario.base.sequence_parallel = false;  // as it is read beside tp 1
  scenario.space = {};
  CHECK_FALSE(choose_layout(scenario, given("micro-batch-size", {"2"}), "check", "x.json").layout.sequence_parallel);
  CHECK(choose_layout(scenario, given("tp", {"2"}), "check", "x.json").layout.sequence_parallel);
}

TEST_CASE("the flag for sequence parallelism wins over the scenario, beside a tp of the search or of a flag") {
  for (const bool on : {false, true}) {
    CAPTURE(on);
    Scenario scenario = open_scenario();
    scenario.base.sequence_parallel = scenario.sequence_parallel_above_tp_1 = !on;
    LayoutChoice choice = given("sequence-parallel", {on ? "true" : "false"});
    CHECK(choose_layout(narrowed(scenario, given("tp", {"2"})), choice, "check", "x.json").layout.sequence_parallel == on);
    scenario.space.tp = {2};
    scenario.space.recompute.resize(1);
    CHECK(choose_layout(scenario, choice, "check", "x.json").layout.sequence_parallel == on);
  }
}

TEST_CASE("delayed weight gradients are kept for the rule that refuses them alone, and go with an overlap that is turned off") {
  Scenario scenario = open_scenario();
  scenario.space = {};
  CHECK(choose_layout(scenario, given("delay-wgrad", {"true"}), "check", "x.json").layout.overlap.delay_wgrad);
  scenario.base.overlap.expert_alltoall = scenario.base.overlap.delay_wgrad = true;
  scenario.space.expert_alltoall_overlap = {false, true};
  CHECK_FALSE(choose_layout(scenario, given("expert-overlap", {"false"}), "check", "x.json").layout.overlap.delay_wgrad);
  CHECK(choose_layout(scenario, given("expert-overlap", {"true"}), "check", "x.json").layout.overlap.delay_wgrad);
}

TEST_CASE("a fixed layout needs no flags") {
  Scenario scenario = open_scenario();
  scenario.space.tp = {4};
  scenario.space.recompute.resize(1);
  const ChosenLayout chosen = choose_layout(scenario, given("", {}), "check", "x.json");
  CHECK(chosen.layout.tp == 4);
  CHECK(chosen.assumed.empty());
}

TEST_CASE("an id gives every field, and flags change it") {
  Layout layout;
  layout.pp = 2;
  layout.dispatcher = Dispatcher::hybridep;
  LayoutChoice choice = given("tp", {"2"});
  choice.id = layout_id(layout);
  const ChosenLayout chosen = choose_layout(open_scenario(), choice, "check", "x.json");
  CHECK(chosen.assumed.empty());
  CHECK(chosen.layout.pp == 2);
  CHECK(chosen.layout.tp == 2);
  CHECK(chosen.layout.dispatcher == Dispatcher::hybridep);
  CHECK(chosen.layout.sequence_parallel);  // came with tp
  choice.id = "tp2-nonsense";
  CHECK_THROWS_AS(choose_layout(open_scenario(), choice, "check", "x.json"), InputError);
}
