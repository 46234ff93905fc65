// SPDX-License-Identifier: Apache-2.0
// What each technique does to a rank's bytes, from its definition alone: families that few measured runs have.
#include <doctest/doctest.h>

#include "edge/families.hpp"

using namespace shardfit;

namespace {

MemoryLedger ledger(const Scenario& s, MemoryMoment moment) {
  const Estimate e = Estimator(s.job).evaluate(s.base);
  for (const StageMemory& row : e.memory)
    if (row.stage == 0 && row.moment == moment) return row.ledger;
  return {};
}

double bytes(const Scenario& s, MemoryTerm term, MemoryMoment moment = MemoryMoment::forward) {
  return double(ledger(s, moment)[term].value);
}

double allocated(const Scenario& s, MemoryMoment moment) { return double(ledger(s, moment).allocated().value); }

const double kClose = 2e-3;  // padding of buffers

}  // namespace

TEST_CASE("FSDP divides weights, gradients and state by the ranks that shard them; HSDP by half of these") {
  Scenario whole = families::scenario_of("plain");
  whole.base.tp = 1;
  whole.base.sequence_parallel = false;
  const Scenario fsdp = families::scenario_of("Megatron-FSDP"), hsdp = families::scenario_of("HSDP");
  for (MemoryTerm term : {MemoryTerm::weights, MemoryTerm::gradients}) {
    CHECK(bytes(whole, term) / bytes(fsdp, term) == doctest::Approx(8).epsilon(kClose));
    CHECK(bytes(whole, term) / bytes(hsdp, term) == doctest::Approx(4).epsilon(kClose));
  }
  CHECK(bytes(whole, MemoryTerm::exp_avg) == doctest::Approx(bytes(fsdp, MemoryTerm::exp_avg)).epsilon(kClose));
  CHECK(bytes(hsdp, MemoryTerm::exp_avg) == doctest::Approx(2 * bytes(fsdp, MemoryTerm::exp_avg)).epsilon(kClose));
  CHECK(bytes(fsdp, MemoryTerm::fsdp_unsharded_weights) > 0);
  const Scenario grads = families::scenario_of("Megatron-FSDP, gradients only");
  CHECK(bytes(grads, MemoryTerm::weights) == doctest::Approx(bytes(whole, MemoryTerm::weights)).epsilon(kClose));
  CHECK(bytes(grads, MemoryTerm::gradients) == doctest::Approx(bytes(fsdp, MemoryTerm::gradients)).epsilon(kClose));
}

TEST_CASE("optimizer offload moves its share of master weights and moments out, and nothing else") {
  const Scenario half = families::scenario_of("optimizer offload");
  Scenario none = half, all = half;
  none.base.offload.optimizer_fraction = 0;
  all.base.offload.optimizer_fraction = 1;
  CHECK(bytes(half, MemoryTerm::exp_avg) == doctest::Approx(bytes(none, MemoryTerm::exp_avg) / 2).epsilon(kClose));
  for (MemoryTerm t : {MemoryTerm::master_weights, MemoryTerm::exp_avg, MemoryTerm::exp_avg_sq}) CHECK(bytes(all, t) == 0);
  CHECK(bytes(all, MemoryTerm::weights) == bytes(none, MemoryTerm::weights));
  CHECK(bytes(all, MemoryTerm::gradients) == bytes(none, MemoryTerm::gradients));
}

TEST_CASE("activation offload leaves less on the device, and puts what is missing on the host") {
  const Scenario with = families::scenario_of("activation offload");
  Scenario without = with;
  without.base.offload.activation_modules = {};
  const Estimate a = Estimator(with.job).evaluate(with.base), b = Estimator(without.job).evaluate(without.base);
  CHECK(a.verdict.need < b.verdict.need);
  CHECK(a.host_memory.value >= (b.verdict.need - a.verdict.need).value);
}

TEST_CASE("a graph of the whole iteration never lowers the peak, and its pool stays between steps") {
  const Scenario graph = families::scenario_of("full-iteration graph");
  Scenario eager = graph;
  eager.base.cuda_graph = {};
  CHECK(allocated(graph, MemoryMoment::forward) > allocated(eager, MemoryMoment::forward));
  CHECK(bytes(graph, MemoryTerm::graph_reserve, MemoryMoment::between_steps) > 0);
  CHECK(bytes(eager, MemoryTerm::graph_reserve, MemoryMoment::between_steps) == 0);
}

TEST_CASE("LoRA keeps gradients and state of its adapters only") {
  const Scenario lora = families::scenario_of("LoRA");
  Scenario full = lora;
  full.job.training.task = Task::sft;
  full.job.training.lora = {};
  CHECK(bytes(lora, MemoryTerm::weights) >= bytes(full, MemoryTerm::weights));
  CHECK(bytes(lora, MemoryTerm::gradients) < 0.01 * bytes(full, MemoryTerm::gradients));
  CHECK(bytes(lora, MemoryTerm::exp_avg) < 0.01 * bytes(full, MemoryTerm::exp_avg));
  CHECK(allocated(lora, MemoryMoment::forward) < allocated(full, MemoryMoment::forward));
}

TEST_CASE("moments of two bytes take half, and a remainder half of a master weight") {
  const Scenario aware = families::scenario_of("precision-aware optimizer");
  Scenario plain = aware;
  plain.job.training.optimizer = {};
  for (MemoryTerm t : {MemoryTerm::exp_avg, MemoryTerm::exp_avg_sq, MemoryTerm::master_weights})
    CHECK(bytes(aware, t) == doctest::Approx(bytes(plain, t) / 2).epsilon(kClose));
}

TEST_CASE("Muon keeps one moment of matrices; layer by layer, a share of it") {
  const Scenario muon = families::scenario_of("Muon"), layerwise = families::scenario_of("layer-wise Muon");
  CHECK(bytes(muon, MemoryTerm::exp_avg_sq) < 0.2 * bytes(muon, MemoryTerm::exp_avg));
  CHECK(bytes(layerwise, MemoryTerm::exp_avg) < 0.5 * bytes(muon, MemoryTerm::exp_avg));
}

TEST_CASE("quantised weights: mxfp8 keeps two bytes and scales an element, nvfp4 one and an eighth") {
  const Scenario mxfp8 = families::scenario_of("mxfp8"), nvfp4 = families::scenario_of("nvfp4");
  const double per_byte = bytes(mxfp8, MemoryTerm::quantized_weights) / bytes(nvfp4, MemoryTerm::quantized_weights);
  CHECK(per_byte == doctest::Approx((2 + 2.0 / 32) / (1 + 2.0 / 16)).epsilon(kClose));
  CHECK(bytes(nvfp4, MemoryTerm::saved_mlp) < bytes(mxfp8, MemoryTerm::saved_mlp));
}

TEST_CASE("gathered fp8 parameters leave out the bf16 form of each quantised weight, two bytes an element") {
  const auto both = [](const Scenario& s) { return bytes(s, MemoryTerm::weights) + bytes(s, MemoryTerm::quantized_weights); };
  for (const auto& [gathered, kept] : {std::pair{"fp8, per tensor", "fp8, per tensor, bf16 weights"},
                                       {"mxfp8", "mxfp8, bf16 weights"},
                                       {"nvfp4", "nvfp4, bf16 weights"}}) {
    CAPTURE(gathered);
    const Scenario with = families::scenario_of(gathered), without = families::scenario_of(kept);
    REQUIRE(with.job.training.fp8_param_gather);
    CHECK(bytes(with, MemoryTerm::quantized_weights) == bytes(without, MemoryTerm::quantized_weights));
    CHECK(both(with) < both(without));
  }
  const Scenario delayed = families::scenario_of("fp8, delayed scaling"), current = families::scenario_of("fp8, per tensor");
  CHECK(bytes(delayed, MemoryTerm::quantized_weights) == bytes(current, MemoryTerm::quantized_weights));
}

TEST_CASE("exchanging heads over cp keeps attention's output twice, the ring once") {
  const Scenario a2a = families::scenario_of("context parallelism, a2a"), ring = families::scenario_of("context parallelism");
  const double again = bytes(a2a, MemoryTerm::saved_attention) - bytes(ring, MemoryTerm::saved_attention);
  const TextSpec& text = a2a.job.model.text;
  const double output = 4096.0 / 4 * text.hidden_size * 2 * text.num_hidden_layers;  // Llama: heads x head_dim = hidden
  CHECK(again == doctest::Approx(output).epsilon(0.05));
}

TEST_CASE("a frozen tower has weights and neither gradients nor state") {
  const Scenario frozen = families::scenario_of("frozen tower");
  Scenario all = frozen;
  all.job.training.frozen = {};
  CHECK(bytes(frozen, MemoryTerm::weights) == doctest::Approx(bytes(all, MemoryTerm::weights)).epsilon(kClose));
  for (MemoryTerm t : {MemoryTerm::gradients, MemoryTerm::exp_avg, MemoryTerm::saved_vision})
    CHECK(bytes(frozen, t) < bytes(all, t));
}

TEST_CASE("each selective module drops something of a model that has it, and never raises what is kept") {
  struct Case {
    RecomputeModule module;
    const char* family;
  };
  using M = RecomputeModule;
  for (const Case& c : {Case{M::core_attn, "plain"},
                        {M::moe_act, "experts over NCCL"},
                        {M::layernorm, "experts over NCCL"},
                        {M::mla_up_proj, "MLA and MTP"},
                        {M::mlp, "plain"},
                        {M::moe, "experts over NCCL"},
                        {M::shared_experts, "latent and shared experts"},
                        {M::gdn_norm_out, "gated DeltaNet"}}) {
    CAPTURE(name_of(c.module));
    Scenario with = families::scenario_of(c.family), without = with;
    without.base.recompute = {};
    with.base.recompute = {.granularity = RecomputeGranularity::selective, .modules = {}};
    with.base.recompute.modules.insert(c.module);
    const auto kept = [](const Scenario& s) {
      double sum = 0;
      for (std::size_t t = std::size_t(MemoryTerm::saved_attention); t <= std::size_t(MemoryTerm::saved_head); ++t)
        sum += bytes(s, MemoryTerm(t));
      return sum;
    };
    CHECK(kept(with) < kept(without));
    CHECK(allocated(with, MemoryMoment::forward) < allocated(without, MemoryMoment::forward));
  }
}

TEST_CASE("local graphs take no copies of inputs, and keep their pool reserved between steps") {
  const Scenario graphs = families::scenario_of("local graphs");
  Scenario eager = graphs;
  eager.base.cuda_graph = {};
  CHECK(bytes(graphs, MemoryTerm::graph_pool) == 0);
  CHECK(bytes(graphs, MemoryTerm::graph_reserve, MemoryMoment::between_steps) > 0);
  CHECK(bytes(eager, MemoryTerm::graph_reserve, MemoryMoment::between_steps) == 0);
}

TEST_CASE("the allgather dispatcher keeps the tokens of its whole group in a buffer, which others have no need of") {
  const Scenario gathered = families::scenario_of("experts over allgather"), sent = families::scenario_of("experts over NCCL");
  CHECK(bytes(gathered, MemoryTerm::gathered_head_input) == 8.0 * 4096 * gathered.job.model.text.hidden_size * 2);
  CHECK(bytes(sent, MemoryTerm::gathered_head_input) == 0);
}

TEST_CASE("whole tensors dealt out: the rank with an embedding has more state than an equal share") {
  const Scenario older = families::scenario_of("older layer-wise Muon"), layerwise = families::scenario_of("layer-wise Muon");
  CHECK(older.job.stack.layerwise_whole_tensors);
  CHECK(bytes(older, MemoryTerm::exp_avg_sq) > bytes(layerwise, MemoryTerm::exp_avg_sq));
  CHECK(bytes(older, MemoryTerm::gradients) ==
        doctest::Approx(bytes(families::scenario_of("Muon"), MemoryTerm::gradients)).epsilon(kClose));
}

TEST_CASE(
    "whole tensors, more ranks than tensors: one grid deals one list, so the fullest owns the largest of all; two deal two") {
  Scenario s = families::scenario_of("older layer-wise Muon");
  s.job.model = io::load_model("Mixtral-8x7B");
  s.job.gpus = s.job.training.global_batch_size = 2048;
  const double table = 32000.0 * 4096, expert = 2.0 * 14336 * 4096;  // the embedding; gate and up projection of an expert
  CHECK(bytes(s, MemoryTerm::master_weights) == 4 * table);
  s.base.ep = 2;  // experts on a grid of their own
  CHECK(bytes(s, MemoryTerm::master_weights) == 4 * (table + expert));
}
