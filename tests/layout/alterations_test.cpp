// SPDX-License-Identifier: Apache-2.0
// What a stack does differently from what a layout says, and what it takes where a layout says nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "layout/edges/edge.hpp"
#include "shardfit/layout/rules.hpp"

using namespace shardfit;
using namespace shardfit::test;

TEST_CASE("what a stack alters without being asked is named, not refused") {
  const auto has = [](const Job& job, const Layout& layout, std::string_view code) {
    const std::vector<Alteration> all = alterations(job, layout);
    return std::any_of(all.begin(), all.end(), [&](const Alteration& a) { return a.code == code; });
  };
  Layout layout = plain_layout();
  CHECK(alterations(dense_job(), layout).empty());

  layout.sequence_parallel = true;  // tp is 1
  CHECK(has(dense_job(), layout, "sequence_parallel_off"));
  CHECK_FALSE(first_violation(dense_job(), layout));

  layout = plain_layout();
  layout.overlap.tp_comm = true;
  CHECK(has(dense_job(), layout, "tp_overlap_off"));
  CHECK_FALSE(has(megatron_lm(dense_job()), layout, "tp_overlap_off"));

  Job ends = dense_job();
  ends.training.first_last_layers_bf16 = true;
  CHECK(has(ends, plain_layout(), "bf16_ends_unused"));
  ends.training.precision = Precision::mxfp8;
  CHECK_FALSE(has(ends, plain_layout(), "bf16_ends_unused"));

  Job moe = moe_job();
  moe.stack.moe_shared_expert_overlap = true;
  layout = plain_layout();
  layout.ep = 8;
  layout.dispatcher = Dispatcher::hybridep;
  CHECK(has(moe, layout, "shared_overlap_off"));

  Job sft = moe_job();
  sft.training.task = Task::sft;
  CHECK(has(sft, layout, "rows_padded"));
  sft.training.packing = Packing::offline;
  CHECK_FALSE(has(sft, layout, "rows_padded"));

  Job longer = dense_job();
  longer.training.sequence_length = 256;  // the model knows 128 positions
  CHECK(has(longer, plain_layout(), "positions_beyond_model"));
  CHECK_FALSE(first_violation(longer, plain_layout()));

  layout = plain_layout();
  layout.recompute.granularity = RecomputeGranularity::full;
  layout.recompute.method = RecomputeMethod::block;
  CHECK(has(with_mtp(dense_job(), 1), layout, "mtp_block_recompute"));
  layout = plain_layout();
  layout.dispatcher = Dispatcher::deepep;
  CHECK(has(dense_job(), layout, "dispatcher_unused"));
  CHECK_FALSE(has(moe_job(), layout, "dispatcher_unused"));
  layout.dispatcher_sms = 24;
  CHECK(has(dense_job(), layout, "dispatcher_sms_unused"));
  CHECK_FALSE(has(moe_job(), layout, "dispatcher_sms_unused"));
  layout.dispatcher = Dispatcher::alltoall;
  CHECK_FALSE(has(dense_job(), layout, "dispatcher_unused"));
  CHECK(has(moe_job(), layout, "dispatcher_sms_unused"));

  layout = plain_layout();
  CHECK_FALSE(has(dense_job(), layout, "fsdp_overlap_on"));
  layout.sharding = Sharding::full;
  layout.overlap.grad_reduce = true;
  CHECK(has(dense_job(), layout, "fsdp_overlap_on"));
  layout.sharding = Sharding::optimizer_grads;
  CHECK_FALSE(has(dense_job(), layout, "fsdp_overlap_on"));
  layout = plain_layout();
  layout.microbatch_group_size = 4;
  CHECK(has(dense_job(), layout, "group_size_unused"));
}

TEST_CASE("the kind of context-parallel traffic that a model's attention needs") {
  CHECK(assumed_cp_comm_type(dense_job().model) == CpCommType::p2p);
  CHECK(assumed_cp_comm_type(window_job().model) == CpCommType::a2a);
  Job job = dense_job();
  job.model.text.mixers[0].kind = CompressedMqaSpec{};
  CHECK(assumed_cp_comm_type(job.model) == CpCommType::all_gather);
}

TEST_CASE("an alteration has a code of its own") {
  std::set<std::string_view> codes;
  for (const Alteration& a : all_alterations()) {
    CAPTURE(a.code);
    CHECK(codes.insert(a.code).second);
  }
}
