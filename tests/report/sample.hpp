// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

#include "shardfit/report/render.hpp"
#include "shardfit/report/views.hpp"

// Hand-made values for the views: no formula runs, so every printed figure is one written here.

namespace shardfit::sample {

inline Scenario scenario() {
  Scenario s;
  s.name = "sample";
  s.file = "sample.json";
  s.job.model.name = "Tiny-MoE";
  s.job.model.text.num_hidden_layers = 4;
  s.job.hardware.name = "test-hgx";
  s.job.gpus = 8;
  s.job.training.global_batch_size = 16;
  s.space.tp = {1, 2, 4};
  s.space.pp = {1, 2};
  return s;
}

/// Two stages; the second is fullest, in backward, at 30 GiB of device use of 40.
inline Estimate estimate() {
  Estimate e;
  e.layout.tp = 2;
  e.layout.pp = 2;
  e.grid = {8, 2, 4, 8};
  e.layout_id = layout_id(e.layout);
  e.plan = {2, 1, {{0, 2, true, false, false, 0}, {2, 2, false, true, false, 0}}};
  StageMemory first{0, MemoryMoment::forward, {}};
  first.ledger.add(MemoryTerm::weights, gib(8));
  first.ledger.add(MemoryTerm::saved_mlp, gib(4));
  StageMemory between{1, MemoryMoment::between_steps, {}};
  between.ledger.add(MemoryTerm::weights, gib(10));
  StageMemory peak{1, MemoryMoment::backward, {}};
  peak.ledger.add(MemoryTerm::weights, gib(10));
  peak.ledger.add(MemoryTerm::exp_avg, gib(6));
  peak.ledger.add(MemoryTerm::saved_mlp, gib(9));
  peak.ledger.add(MemoryTerm::logits, gib(4));
  peak.ledger.add(MemoryTerm::cuda_context, gib(1));
  e.memory = {first, between, peak};
  e.tensors = {{"fc1", "input", MemoryTerm::saved_mlp, 1, 6, mib(512)}};
  e.time.add(TimeTerm::gemm, Seconds(1.5));
  e.time.add(TimeTerm::pipeline_bubble, Seconds(0.5));
  e.stages = {{0, 0.010, 0.020, 0.001, 0.002}, {1, 0.012, 0.024, 0.001, 0.002}};
  TrafficRow gather{"tp", "all_gather", "forward", "linear_qkv", "input", 1, 64, 1e6, 32e6, 0, 0,
                    0,    0.004,        "nothing", "NVLink"};
  TrafficRow again = gather;
  again.what = "fc1";
  TrafficRow quiet = gather;
  quiet.stage = 0;
  quiet.busy_s = 0.001;
  e.traffic = {quiet, gather, again};
  e.modules = {{.part = "decoder",
                .module = "dense_mlp",
                .stage = 0,
                .layers = 2,
                .forward_s = 0.004,
                .backward_s = 0.008,
                .saved = mib(100),
                .parameters = 1'234'567}};
  e.verdict = {true, 0.02, gib(30), gib(40), 1, MemoryMoment::backward};
  e.step_time_s = 2;
  e.tokens_per_s_per_gpu = 4096;
  e.useful_tokens_per_s_per_gpu = 4000;
  e.samples_per_s = 8;
  e.model_tflops_per_gpu = 500;
  e.mfu = 0.25;
  e.mfu_peak_tflops = 2000;
  return e;
}

inline std::string rendered(const Document& document, Format format, bool colour = false) {
  std::ostringstream out;
  render(document, format, out, colour);
  return out.str();
}

}  // namespace shardfit::sample
