// SPDX-License-Identifier: Apache-2.0
// Is the traffic ledger what ranks really send? Every collective of every group of every micro-batch is played on small
// grids, message by message: sizes from Megatron-Core's tensors, written down here anew; members from the rank grid; rings,
// exchanges and sends hop by hop over NVLink domains of 8. What is sent is what is received, and the ledger's rows of a stage
// are the mean over its ranks.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/report/views.hpp"
#include "shardfit/search/sweep.hpp"
#include "traffic_replay.hpp"

using namespace shardfit;

namespace {

std::string kind_text(const Kind& k) { return std::get<0>(k) + " " + std::get<1>(k) + " " + std::get<2>(k); }

/// How a case differs from bf16 without a tied embedding.
struct Case {
  const char* training = R"("precision": "bf16")";
  bool tied = false;
  bool precision_aware = false;  ///< optimizer
};

void compare(const Model& model, const std::string& layout, const Case& c = {}) {
  const std::string text = std::string(R"({"model": ")") + model.name + R"(", "hardware": "b200-hgx", "gpus": 32,
    "training": {)" + c.training +
                           R"(, "sequence_length": 2048, "global_batch_size": 64, "routing": "balanced",
                 "optimizer": {"precision_aware": )" +
                           (c.precision_aware ? "true" : "false") +
                           R"(, "kind": "adam", "grad_buffer_dtype": "fp32", "main_params_dtype": "fp32",
                               "main_grads_dtype": "fp32", "exp_avg_dtype": "fp32", "exp_avg_sq_dtype": "fp32"}},
    "stack": "megatron-lm-2026-08", "layout": {)" +
                           layout + "}}";
  Scenario scenario = io::parse_scenario(text, "traffic.json");
  scenario.job.model.text.tie_word_embeddings = c.tied;
  scenario.base = layout_at(scenario, 0);
  CAPTURE(layout);
  const auto violation = first_violation(scenario.job, scenario.base);
  REQUIRE_MESSAGE(!violation, violation_text(*violation));
  const Estimate e = Estimator(scenario.job).evaluate(scenario.base);
  const Replay replay(model, scenario);
  CHECK(replay.wire().all_sent() == doctest::Approx(replay.wire().all_received()));
  for (int stage = 0; stage < scenario.base.pp; ++stage) {
    CAPTURE(stage);
    std::map<Kind, Sent> ledger;
    for (const TrafficRow& row : e.traffic) {
      if (row.stage != stage || row.group == "host") continue;
      Sent& s = ledger[{std::string(row.group), std::string(row.collective), std::string(row.phase)}];
      s.nvlink += row.nvlink_bytes_per_step;
      s.network += row.network_bytes_per_step;
    }
    std::map<std::string, double> host;
    for (const TrafficRow& row : e.traffic)
      if (row.stage == stage && row.group == "host") host[std::string(row.phase)] += row.host_bytes_per_step;
    const std::map<std::string, double> copied = replay.host_bytes(stage);
    CHECK(host.size() == copied.size());
    for (const auto& [phase, bytes] : copied) {
      CAPTURE(phase);
      CHECK(host[phase] == doctest::Approx(bytes).epsilon(1e-6));
    }
    const std::map<Kind, Sent> played = replay.wire().mean(replay.ranks_of(stage));
    for (const auto& [kind, s] : played) {
      CAPTURE(kind_text(kind));
      CHECK(ledger.count(kind) == 1);
      CHECK(ledger[kind].nvlink == doctest::Approx(s.nvlink).epsilon(1e-6));
      CHECK(ledger[kind].network == doctest::Approx(s.network).epsilon(1e-6));
    }
    for (const auto& [kind, s] : ledger) {
      CAPTURE(kind_text(kind));
      CHECK(played.count(kind) == 1);
    }
  }
}

}  // namespace

TEST_CASE("tensor, pipeline and data parallelism of a dense model") {
  compare(kDense, R"("tp": 4, "pp": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 4, "pp": 2, "sequence_parallel": false)");
  compare(kDense, R"("tp": 2, "pp": 4, "vpp": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 1, "pp": 8, "vpp": 4)");
  compare(kDense, R"("tp": 8, "sharding": "none", "sequence_parallel": true)");
}

TEST_CASE("every kind of context parallelism, also beyond the NVLink domain") {
  const auto by = [](const char* type) { return std::string(R"("sequence_parallel": true, "cp_comm_type": ")") + type + "\""; };
  for (const char* type : {"p2p", "a2a", "all_gather", "a2a+p2p"}) compare(kDense, R"("tp": 2, "cp": 4, )" + by(type));
  for (const char* type : {"p2p", "all_gather", "a2a+p2p"}) compare(kDense, R"("tp": 4, "cp": 4, "pp": 2, )" + by(type));
}

TEST_CASE("rank order tp-cp-ep-pp-dp") {
  compare(kDense, R"("tp": 2, "pp": 4, "sequence_parallel": true, "use_tp_pp_dp_mapping": true)");
  compare(kDense, R"("tp": 2, "cp": 2, "pp": 2, "sequence_parallel": true, "use_tp_pp_dp_mapping": true)");
  compare(kMoe, R"("tp": 1, "cp": 4, "pp": 2, "ep": 4, "etp": 1, "use_tp_pp_dp_mapping": true, "dispatcher": "alltoall")");
}

TEST_CASE("experts by each dispatcher, in a domain and beyond") {
  for (const char* dispatcher : {"allgather", "alltoall", "deepep", "hybridep"}) {
    const std::string by = std::string(R"("etp": 1, "dispatcher": ")") + dispatcher + "\"";
    compare(kMoe, R"("tp": 1, "ep": 8, )" + by);
    compare(kMoe, R"("tp": 4, "pp": 4, "ep": 8, "sequence_parallel": true, )" + by);
    compare(kMoe, R"("tp": 2, "pp": 2, "ep": 4, "sequence_parallel": true, )" + by);
  }
  compare(kMoe, R"("tp": 2, "ep": 8, "etp": 2, "sequence_parallel": true, "dispatcher": "alltoall")");  // two nodes
}

TEST_CASE("recompute repeats the forward collectives of what it covers") {
  compare(
      kDense,
      R"("tp": 4, "pp": 2, "sequence_parallel": true, "recompute": {"granularity": "full", "method": "uniform", "num_layers": 1})");
  compare(
      kDense,
      R"("tp": 4, "pp": 2, "vpp": 2, "sequence_parallel": true, "recompute": {"granularity": "full", "method": "block", "num_layers": 3})");
  compare(
      kDense,
      R"("tp": 2, "cp": 2, "sequence_parallel": true, "recompute": {"granularity": "selective", "modules": ["core_attn"]})");
  compare(
      kMoe,
      R"("tp": 1, "ep": 8, "etp": 1, "dispatcher": "deepep", "recompute": {"granularity": "selective", "modules": ["moe"]})");
}

TEST_CASE("HSDP's two levels, FSDP every micro-batch") {
  compare(kDense, R"("tp": 2, "sharding": "optimizer", "optimizer_instances": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 1, "sharding": "full")");
  compare(kDense, R"("tp": 1, "sharding": "optimizer_grads")");
  compare(kMoe, R"("tp": 1, "ep": 8, "etp": 1, "sharding": "full", "dispatcher": "alltoall")");
}

TEST_CASE("a tied embedding is summed over the ends of the pipeline") {
  compare(kDense, R"("tp": 2, "pp": 4, "sequence_parallel": true)", {.tied = true});
  compare(kDense, R"("tp": 2, "pp": 1, "sequence_parallel": true)", {.tied = true});
}

TEST_CASE("fp8 payloads: gathers of what products read, of parameters, of attention's operands; experts' tokens stay wide") {
  for (const char* training :
       {R"("precision": "fp8_tensorwise", "fp8_param_gather": true)", R"("precision": "fp8_tensorwise")",
        R"("precision": "fp8_blockwise")", R"("precision": "mxfp8", "fp8_param_gather": true)", R"("precision": "nvfp4")"}) {
    CAPTURE(training);
    compare(kDense, R"("tp": 4, "pp": 2, "sharding": "optimizer", "sequence_parallel": true)", {training});
    compare(kDense, R"("tp": 2, "sharding": "optimizer", "optimizer_instances": 2, "sequence_parallel": true)", {training});
    compare(
        kMoe,
        R"("tp": 2, "pp": 2, "ep": 4, "etp": 1, "sharding": "optimizer", "sequence_parallel": true, "dispatcher": "deepep")",
        {training});
  }
  for (const char* type : {"p2p", "a2a", "all_gather", "a2a+p2p"})
    compare(kDense, std::string(R"("tp": 2, "cp": 4, "sequence_parallel": true, "cp_comm_type": ")") + type + "\"",
            {R"("precision": "fp8_tensorwise", "fp8_attention": true)"});
}

TEST_CASE("copies to the host and back: the optimizer's part, activations of modules") {
  const Case aware{.precision_aware = true};
  compare(kDense,
          R"("tp": 2, "pp": 2, "sharding": "optimizer", "sequence_parallel": true, "offload": {"optimizer_fraction": 0.5})",
          aware);
  compare(
      kMoe,
      R"("tp": 1, "ep": 8, "etp": 1, "sharding": "optimizer", "dispatcher": "alltoall", "offload": {"optimizer_fraction": 1.0})",
      aware);
  compare(kDense, R"("tp": 2, "sequence_parallel": true, "offload": {"activation_modules": ["core_attn", "attn_proj"]})");
  compare(kDense, R"("tp": 2, "pp": 2, "vpp": 2, "sequence_parallel": true, "offload": {"activation_modules": ["core_attn"]})");
}
