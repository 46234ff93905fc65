// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/memory_groups.hpp"
#include "sample.hpp"

using namespace shardfit;
using nlohmann::json;
using sample::rendered;

namespace {

json json_of(const Document& document) { return json::parse(rendered(document, Format::json)); }

SweepResult sweep_result() {
  SweepResult result;
  result.space = result.evaluated = 6;
  result.valid = 3;
  result.fit = 2;
  result.seconds = 0.5;
  const Quick fast{1.0, 8192, gib(30), true, 0, MemoryMoment::forward, TimeTerm::gemm};
  const Quick lean{2.0, 4096, gib(20), true, 1, MemoryMoment::backward, TimeTerm::pipeline_bubble};
  result.front_metrics = {Metric::step_time, Metric::peak_memory};
  for (const Candidate& c : {Candidate{1, fast}, Candidate{3, lean}}) {
    result.top.push_back(Judged{c});
    result.all.push_back(c);
  }
  result.pareto = result.top;
  result.rejected = {{-1, 1, 0, {}}, {0, 3, 5, {0, 3, 64}}};
  return result;
}

/// The sample's study.
struct Sample {
  Scenario scenario = [] {
    Scenario s = sample::scenario();
    FabricSpec& fabric = s.job.hardware.fabric;  // an estimator asks for a cluster that can be built
    fabric.oversubscription.value = fabric.nvlink_gb_per_s.value = fabric.nic_gb_per_s.value = 1;
    fabric.nic_alltoall_gb_per_s.value = 1;
    GpuSpec& gpu = s.job.hardware.gpu;
    gpu.sm_count.value = gpu.hbm_tb_per_s.value = gpu.gemm[Math::bf16].rate_tflops = 1;
    gpu.attention.push_back({.head_dim = 128, .rate_tflops = 1, .seq_half = 1});
    for (std::size_t i = 0; i < kCount<Coefficient>; ++i) s.job.time.values[Coefficient(i)].value = 1;
    return s;
  }();
  Estimator estimator{scenario.job};
  Study study{{{&scenario, &estimator}}, {}};
};

}  // namespace

TEST_CASE("the memory bill adds up to the verdict, group by group") {
  const json memory = json_of(estimate_document(sample::scenario(), sample::estimate()))["memory"];
  double sum = 0, share = 0;
  for (const json& row : memory) {
    sum += row["size_gib"].get<double>();
    share += row["share"].get<double>();
  }
  CHECK(sum == doctest::Approx(30));
  CHECK(share == doctest::Approx(1));
  CHECK(memory[0]["term"] == "weights");  // dearest of the first group
  CHECK(memory[0]["group"] == "state");
  CHECK(memory[4]["group"] == "outside_torch");
}

TEST_CASE("the printed bill is percent, size, label, with the total last") {
  Document document = only_sections(estimate_document(sample::scenario(), sample::estimate()), {"memory"});
  document.title.clear();
  document.summary.clear();
  CHECK(rendered(document, Format::table) ==
        "Memory of the fullest rank: stage 1, backward\n"
        "      %    GiB  term\n"
        "   53.3  16.00  state\n"
        "   33.3  10.00    weights\n"
        "   20.0   6.00    exp_avg\n"
        "   30.0   9.00  saved_activations\n"
        "   30.0   9.00    saved_mlp\n"
        "   13.3   4.00  at_the_moment\n"
        "   13.3   4.00    logits\n"
        "    3.3   1.00  outside_torch\n"
        "    3.3   1.00    cuda_context\n"
        "  -----  -----\n"
        "  100.0  30.00  total\n");
}

TEST_CASE("each stage is shown at its own dearest moment") {
  const json stages = json_of(estimate_document(sample::scenario(), sample::estimate()))["memory_by_stage"];
  REQUIRE(stages.size() == 2);
  CHECK(stages[0]["peak_moment"] == "forward");
  CHECK(stages[0]["peak_memory_gib"] == 12);
  CHECK(stages[1]["peak_moment"] == "backward");
  CHECK(stages[1]["static_allocated_gib"] == 10);
  CHECK(stages[1]["peak_allocated_gib"] == 29);
  CHECK(stages[1]["margin_gib"] == 10);
  CHECK(stages[1]["holds"] == "head");
}

TEST_CASE("torch's peak is over all moments, also where a graph's idle pool makes another the device's") {
  Estimate estimate = sample::estimate();
  for (StageMemory& row : estimate.memory)
    if (row.moment == MemoryMoment::between_steps) row.ledger.add(MemoryTerm::graph_reserve, gib(60));
  const json stages = json_of(estimate_document(sample::scenario(), estimate))["memory_by_stage"];
  CHECK(stages[1]["peak_moment"] == "between_steps");
  CHECK(stages[1]["peak_allocated_gib"] == 29);
}

TEST_CASE("the time waterfall runs from the start to the end of the step") {
  Document document = only_sections(estimate_document(sample::scenario(), sample::estimate()), {"time"});
  const std::string text = rendered(document, Format::table);
  CHECK(text.find("75.0   1.500  gemm             " + std::string(24, '#') + "\n") != std::string::npos);
  CHECK(text.find("25.0   0.500  pipeline_bubble  " + std::string(24, ' ') + std::string(8, '#') + "\n") != std::string::npos);
}

TEST_CASE("the timeline draws each stage and lists every pass") {
  Estimate e = sample::estimate();
  e.layout.tp = 1;
  e.grid.microbatches = 4;
  e.stages = {{0, 1, 2, 0, 0}, {1, 1, 2, 0, 0}};
  const Document document = explain_document(sample::scenario(), e, {.timeline = true});
  const json data = json_of(document);
  // 1F1B of equal stages: each works 4 * 3 s and waits for one forward and one backward of the other.
  REQUIRE(data["timeline"].size() == 2);
  CHECK(data["timeline"][0]["busy_s"] == doctest::Approx(12));
  CHECK(data["timeline"][1]["waiting_s"] == doctest::Approx(3));
  CHECK(data["timeline"][1]["waiting_share"] == doctest::Approx(0.2));
  REQUIRE(data["passes"].size() == 2 * 2 * 4);
  CHECK(data["passes"][0]["pass"] == "forward");
  CHECK(data["passes"][15]["end_s"] == doctest::Approx(13));  // the second stage is done a backward before the first
  const std::string text = rendered(only_sections(document, {"timeline"}), Format::table);
  CHECK(text.find("FFFF") != std::string::npos);
  CHECK(text.find("....") != std::string::npos);
}

TEST_CASE("traffic of the busiest stage is added up by group; explain has every call") {
  const json traffic = json_of(estimate_document(sample::scenario(), sample::estimate()))["traffic"];
  REQUIRE(traffic.size() == 1);
  CHECK(traffic[0]["stage"] == 1);
  CHECK(traffic[0]["calls_per_step"] == 128);
  CHECK(traffic[0]["busy_time_s"] == doctest::Approx(0.008));
  CHECK(traffic[0]["what"] == "2 operations");
  CHECK(json_of(explain_document(sample::scenario(), sample::estimate(), {}))["collectives"].size() == 3);
}

TEST_CASE("the summary says where the time goes and what to try") {
  Change change{
      "recompute", "none", "full:uniform:1", {}, {1.9, 4300.8, gib(25), true, 1, MemoryMoment::backward, TimeTerm::gemm}};
  const std::string summary = estimate_document(sample::scenario(), sample::estimate(), change).summary;
  CHECK(summary ==
        "Fits: needs 30.00 GiB of 40.00 GiB, 10.00 GiB left. 2.000 s a step, most of it in gemm 75 %, pipeline_bubble 25 %. "
        "Most worth trying: recompute none -> full:uniform:1: 4,300.8 tokens/s/GPU (+5.0 %), peak 25.00 GiB.");
}

TEST_CASE("an explanation has formula and source of each term that is there, and of no other") {
  const json terms = json_of(explain_document(sample::scenario(), sample::estimate(), {}))["memory_terms"];
  CHECK(terms.size() == 5);
  for (const json& term : terms) {
    CHECK(term["formula"].is_string());
    CHECK(term["source"].is_string());
  }
}

TEST_CASE("the letters of the formulas have their values") {
  Scenario scenario = sample::scenario();
  scenario.job.model.text.vocab_size = 1000;
  scenario.job.model.text.mlps = {{"moe", MoeMlpSpec{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 512}}};
  Estimate estimate = sample::estimate();
  estimate.layout.cp = 4;
  std::map<std::string, std::int64_t> values;
  const json symbols = json_of(explain_document(scenario, estimate, {}))["symbols"];
  for (const json& row : symbols) values[row["symbol"]] = row["value"];
  CHECK(values["N"] == 1024);  // 4096 / 4
  CHECK(values["V"] == 1024);  // a multiple of 128 x tp 2
  CHECK(values["topk"] == 2);
  CHECK(values["m"] == 8);
}

TEST_CASE("a selection leaves the other parts out") {
  const json memory = json_of(explain_document(sample::scenario(), sample::estimate(), {.memory = true}));
  CHECK(memory.contains("tensors"));
  CHECK_FALSE(memory.contains("time_terms"));
  CHECK_FALSE(memory.contains("traffic"));
  CHECK_FALSE(memory.contains("modules"));
}

TEST_CASE("a tensor's size is one times those alive") {
  const json tensors = json_of(explain_document(sample::scenario(), sample::estimate(), {}))["tensors"];
  CHECK(tensors[0]["size_gib"] == 3.0);
  CHECK(tensors[0]["each_gib"] == 0.5);
}

TEST_CASE("check says both numbers and the cure") {
  CheckResult result;
  result.violations = {{0, 3, 64}};
  result.cures = {{"tp", {2, 4}}};
  const Document document = check_document(sample::scenario(), result);
  const json row = json_of(document)["violations"][0];
  CHECK(row["got"] == 3);
  CHECK(row["need"] == 64);
  CHECK(row["cure"] == "try tp = 2 or 4");
  CHECK(document.tone == Tone::bad);
  CHECK(document.summary.find("try tp = 2 or 4") != std::string::npos);
  CHECK_FALSE(result.ok());
}

TEST_CASE("a cure that is a switch is written as files and flags take it") {
  CHECK(cure_text({"sequence_parallel", {1}}) == "try sequence_parallel = true");
  CHECK(cure_text({"sequence_parallel", {0, 1}}) == "try sequence_parallel = false or true");
  CHECK(cure_text({"tp", {1}}) == "try tp = 1");
}

TEST_CASE("a layout that does not fit says how much is missing") {
  CheckResult result;
  result.estimate = sample::estimate();
  CHECK(result.ok());
  result.estimate->verdict.fits = false;
  result.estimate->verdict.usable = gib(28);
  CHECK_FALSE(result.ok());
  CHECK(check_document(sample::scenario(), result).summary == "Does not fit: needs 30.00 GiB of 28.00 GiB, 2.00 GiB too much");
}

TEST_CASE("a sweep's rows carry figures, axes and an id that parses back") {
  const Sample sample;
  const Scenario& scenario = sample.scenario;
  const json top = json_of(sweep_document(sample.study, sweep_result()))["top"];
  REQUIRE(top.size() == 2);
  CHECK(top[0]["rank"] == 1);
  CHECK(top[0]["step_time_s"] == 1.0);
  CHECK(top[0]["peak_memory_gib"] == 30.0);
  const Layout layout = layout_at(scenario, 1);
  CHECK(top[0]["tp"] == layout.tp);
  CHECK(layout_id(parse_layout_id(top[0]["layout_id"])) == layout_id(layout));
}

TEST_CASE("the streamed CSV has one field a column, and the same figures as the table") {
  const Sample sample;
  const Study& study = sample.study;
  const SweepResult result = sweep_result();
  std::ostringstream all;
  write_candidates_csv(study, std::span<const Judged>(result.top), all);
  std::string table = rendered(only_sections(sweep_document(study, result), {"top"}), Format::csv);
  // The table has the rank in front.
  std::istringstream table_lines(table), all_lines(all.str());
  std::string with_rank, without;
  while (std::getline(table_lines, with_rank)) {
    REQUIRE(std::getline(all_lines, without));
    CHECK(with_rank.substr(with_rank.find(',') + 1) == without);
  }
  CHECK_FALSE(std::getline(all_lines, without));
}

TEST_CASE("refusals are counted by reason, memory among them") {
  const json rejected = json_of(sweep_document(Sample().study, sweep_result()))["rejected"];
  REQUIRE(rejected.size() == 2);
  CHECK(rejected[0]["reason"] == "memory");
  CHECK(rejected[0]["share"] == doctest::Approx(1.0 / 6));
  CHECK(rejected[1]["reason"] == std::string(rules()[0].code));
  CHECK(rejected[1]["example_got"] == 3);
}

TEST_CASE("an empty sweep says so") {
  SweepResult result = sweep_result();
  result.top.clear();
  result.pareto.clear();
  const Document document = sweep_document(Sample().study, result);
  CHECK(document.summary.starts_with("No layout fits"));
  CHECK(document.tone == Tone::bad);
  for (const char* key : {"near_ties", "sensitivity", "top"}) CHECK(only_sections(document, {key}).sections.size() == 1);
  SweepResult limited = result;
  limited.rejected.push_back({kRefusedByLimit, 2, 0, {}});
  CHECK(sweep_document(Sample().study, limited).summary.starts_with("No layout stays within the limits"));
  result.valid = 0;
  CHECK(sweep_document(Sample().study, result).summary.starts_with("No layout passes the rules"));
  result.complete = false;
  CHECK(sweep_document(Sample().study, result).summary.find("interrupted") != std::string::npos);
}

TEST_CASE("every memory term has a group, and groups are in the order of the terms") {
  report::MemoryGroup last = report::MemoryGroup::state;
  for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i) {
    const report::MemoryGroup group = report::group_of(MemoryTerm(i));
    CHECK(group >= last);
    CHECK((group == report::MemoryGroup::outside_torch) == is_outside_torch(MemoryTerm(i)));
    last = group;
  }
  CHECK(last == report::MemoryGroup::outside_torch);
}
