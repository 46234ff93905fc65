// SPDX-License-Identifier: Apache-2.0
// How many rows reach the experts, and how they get there and back.
#include "moe_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

TEST_CASE("rows follow tokens, top-k and expert tensor parallelism; widths shrink by it") {
  Shapes s = on_ep(8, 4);
  s.etp = 2;
  const MoeSizes z = moe_sizes(deepseek_v3(), s);
  CHECK(z.tokens == 1024);
  CHECK(z.rows == 1024 * 8 * 2);
  CHECK(z.width == 1024);
  CHECK(z.local_experts == 32);
  CHECK(z.group == 16);
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(saved_bytes(ops, "expert_fc1_out") == 16384LL * 2 * 1024 * 2);
  CHECK(elements(ops, ParamGroup::routed_experts) == 32LL * 3 * 7168 * 1024);
  const double rows = 16384.0 * 7168 * 2;
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::all_gather, false) == rows);
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::reduce_scatter, false) == rows);
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::all_gather, true) == rows);
}

TEST_CASE("imbalance reaches kernels and traffic, but kept bytes stay at balance and say which of them grow") {
  Shapes s = on_ep(8);
  const OpList balanced = moe(deepseek_v3(), s);
  s.expert_load = 1.25;
  const OpList busy = moe(deepseek_v3(), s);
  CHECK(saved_bytes(busy) == saved_bytes(balanced));
  CHECK(routed_bytes(busy) == (448 + 256 + 128) * kMiB + 32768 * 4);
  CHECK(kernel(find(balanced, "expert_fc1"), KernelKind::grouped_gemm, Pass::forward).m == 1024);
  CHECK(kernel(find(busy, "expert_fc1"), KernelKind::grouped_gemm, Pass::forward).m == 1280);
  CHECK(find(busy, "dispatch").forward.traffic.at(0).tokens == 4096 * 1.25);
}

TEST_CASE("capacity fixes the rows when padded, and bounds them when only dropped") {
  Shapes s = on_ep(8);
  s.capacity_factor = 1.5;
  s.expert_load = 1.3;
  s.drop_and_pad = true;
  s.host_free_dispatch = true;
  // ceil(4096*8/256 * 1.5) = 192 tokens an expert and rank.
  MoeSizes z = moe_sizes(deepseek_v3(), s);
  CHECK(z.rows == 256 * 192);
  CHECK(z.busy_rows == z.rows);
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(routed_bytes(ops) == 0);
  CHECK(syncs(ops) == 0);
  s.drop_and_pad = false;
  z = moe_sizes(deepseek_v3(), s);
  CHECK(z.rows == 4096 * 8);
  s.capacity_factor = 0.5;
  CHECK(moe_sizes(deepseek_v3(), s).rows == 256 * 64);
}

TEST_CASE("the host waits once for a dropless dispatch unless the rows are known") {
  Shapes s = on_ep(8);
  for (Dispatcher d : {Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep}) {
    s.dispatcher = d;
    CHECK(syncs(moe(deepseek_v3(), s)) == 1);
  }
  s.host_free_dispatch = true;
  CHECK(syncs(moe(deepseek_v3(), s)) == 0);
}

TEST_CASE("dispatchers move tokens their own way") {
  Shapes s = on_ep(64);
  const Traffic alltoall = find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0);
  CHECK(alltoall.group == Group::ep);
  CHECK(alltoall.kind == CollectiveKind::dispatch);
  CHECK(alltoall.bytes == 4096.0 * 8 * 7168 * 2);
  CHECK(alltoall.hides == Hides::expert_overlap);
  CHECK(alltoall.limit.chosen == 4);
  CHECK(alltoall.limit.groups == 8);
  s.dispatcher = Dispatcher::hybridep;
  const OpList hybrid = moe(deepseek_v3(), s);
  CHECK(find(hybrid, "dispatch").forward.traffic.at(0).group == Group::tp_ep);
  CHECK(find(hybrid, "dispatch").backward.traffic.at(0).kind == CollectiveKind::combine);
  CHECK(find(hybrid, "combine").backward.traffic.at(0).kind == CollectiveKind::dispatch);
  // Routing map of the whole group: 3 B for each of T*G*E; handle: 4*T*E and T*E.
  CHECK(moved_bytes({find(hybrid, "preprocess")}, KernelKind::memory, false) == 3.0 * 4096 * 64 * 256);
  CHECK(saved_bytes(hybrid, "dispatch_maps") == 4096LL * 256 * 5);
  s.dispatcher = Dispatcher::allgather;
  const OpList gathered = moe(deepseek_v3(), s);
  CHECK(traffic_bytes(gathered, Group::tp_ep, CollectiveKind::all_gather, false) == 4096.0 * 64 * 7168 * 2);
  CHECK(traffic_bytes(gathered, Group::tp_ep, CollectiveKind::reduce_scatter, false) == 4096.0 * 64 * 7168 * 2);
}

TEST_CASE("HybridEP's tokens bring a row of probabilities there and its gradient back, DeepEP's do not") {
  Shapes s = on_ep(64);
  s.dispatcher = Dispatcher::hybridep;
  const OpList hybrid = moe(deepseek_v3(), s);
  const double token = 7168 * 2, row = 4 * 256;
  CHECK(find(hybrid, "dispatch").forward.traffic.at(0).width_bytes == token + row);
  CHECK(find(hybrid, "dispatch").backward.traffic.at(0).width_bytes == token + row);
  CHECK(find(hybrid, "combine").forward.traffic.at(0).width_bytes == token);
  CHECK(find(hybrid, "combine").backward.traffic.at(0).width_bytes == token);
  s.domain_share = 0.125;  // eight domains: a token goes to one with that domain's experts only
  CHECK(find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0).width_bytes == token + row / 8);
  s.dispatcher = Dispatcher::deepep;
  CHECK(find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0).width_bytes == token);
}

TEST_CASE("quantised rows behind alltoall are padded and unpadded, unless their number is fixed") {
  Shapes s = on_ep(8);
  const double plain = moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false);
  s.precision = s.run_precision = Precision::mxfp8;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == plain + 8.0 * 32768 * 7168);
  s.drop_and_pad = true;
  s.capacity_factor = 1;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == plain);
}

TEST_CASE("one rank for all experts sends nothing") {
  const OpList ops = moe(deepseek_v3(), on_ep(1));
  for (const Op& op : ops) CHECK(op.forward.traffic.empty());
  CHECK(moved_bytes(ops, KernelKind::permute, false) == 4.0 * 4096 * ((1 + 8) + 2 * 8) * 7168);  // permuted, chunks sorted
}

TEST_CASE("permutation reads a row once for its copies and sorts chunks of several experts; the libraries fuse most of it") {
  Shapes s = on_ep(8);
  const double permuted = 4.0 * 4096 * (1 + 8) * 7168, sorted = 8.0 * 32768 * 7168;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == permuted + sorted);
  CHECK(moved_bytes(moe(deepseek_v3(), on_ep(256)), KernelKind::permute, false) == permuted);  // one expert a rank
  s.permute_fusion = false;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == 8.0 * 2 * 32768 * 7168);
  s.dispatcher = Dispatcher::hybridep;
  const double hits = expected_parts_hit(8, 256, 8, {8, 4});
  CHECK(hits == doctest::Approx(3.6290).epsilon(1e-4));  // 4 groups of one rank each
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, true) == doctest::Approx(4.0 * 4096 * 7168 * (hits + 8)));
}
