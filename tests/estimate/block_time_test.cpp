// SPDX-License-Identifier: Apache-2.0
#include "estimate/block_time.hpp"

#include <doctest/doctest.h>

#include "estimate/stage_load.hpp"

using namespace shardfit;
using namespace shardfit::estimate;

namespace {

/// A timed operation of 1 ms GEMM with one call and ten launches.
TimedOp op(std::optional<GraphScope> scope, EnumSet<RecomputeModule> recomputed_by = {}) {
  TimedOp o;
  o.scope = scope;
  o.recomputed_by = recomputed_by;
  o.forward.gemm = 1e-3;
  o.forward.kernels = 10;
  o.forward.calls = 1;
  o.backward.gemm = 2e-3;
  return o;
}

struct Fixture {
  compute::Device device;
  comm::LayoutLinks links{};
  TimingRates rates;
  Fixture() {
    device.kernel_gap = 1e-6;
    device.graphed_gap_share = 0.4;
    device.host_call = 1e-3;
    rates.device = &device;
    rates.links = &links;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "eager: every launch gaps, every call costs the host") {
  const BlockTime t = block_time({op(GraphScope::attn)}, Layout{}, rates);
  CHECK(1e3 * t.forward.gemm == doctest::Approx(1));
  CHECK(1e3 * t.backward.gemm == doctest::Approx(2));
  CHECK(1e6 * t.forward.gaps == doctest::Approx(10));
  CHECK(1e3 * t.forward.host == doctest::Approx(1));
  CHECK(t.rerun.gemm == 0);
}

TEST_CASE_FIXTURE(Fixture, "a launch costs the host PyTorch's way to it, one by a loop in C++ the driver's call alone") {
  device.host_call = 0;
  device.host_launch = 7e-6;
  device.driver_launch = 2e-6;
  TimedOp looped = op(GraphScope::attn);
  looped.forward.looped = 4;  // of the ten
  CHECK(1e6 * block_time({op(GraphScope::attn)}, Layout{}, rates).forward.host == doctest::Approx(10 * 7));
  CHECK(1e6 * block_time({looped}, Layout{}, rates).forward.host == doctest::Approx(6 * 7 + 4 * 2));
}

TEST_CASE_FIXTURE(Fixture, "a graphed scope is one replay however many operations it holds") {
  Layout layout;
  layout.cuda_graph = {CudaGraphImpl::transformer_engine, {GraphScope::attn}};
  const BlockTime t = block_time({op(GraphScope::attn), op(GraphScope::attn), op(std::nullopt)}, layout, rates);
  CHECK(1e3 * t.forward.host == doctest::Approx(1 + 3));  // the eager one, and a replay of three calls
  CHECK(1e6 * t.forward.gaps == doctest::Approx(10 + 2 * 4));
  layout.cuda_graph = {CudaGraphImpl::full_iteration, {}};
  CHECK(block_time({op(GraphScope::attn), op(std::nullopt)}, layout, rates).forward.host == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a checkpoint costs the host 5 calls forward and 12 backward, nothing in a graph of the whole iteration") {
  const CheckpointHost host = checkpoint_host(3, CudaGraph{}, rates);
  CHECK(1e3 * host.forward == doctest::Approx(3 * 5));
  CHECK(1e3 * host.backward == doctest::Approx(3 * 12));
  CHECK(checkpoint_host(3, {CudaGraphImpl::full_iteration, {}}, rates).backward == 0);
}

TEST_CASE_FIXTURE(Fixture, "selective recompute reruns the operations of its modules only") {
  Layout layout;
  layout.recompute = {RecomputeGranularity::selective, {RecomputeModule::mlp}};
  const BlockTime t = block_time({op(std::nullopt, {RecomputeModule::mlp}), op(std::nullopt, {RecomputeModule::core_attn})},
                                 layout, rates);
  CHECK(t.rerun.gemm == doctest::Approx(1e-3));
  // Random states saved forward; saved, set and restored around the second run, which calls its operation again.
  CHECK(t.forward.host == doctest::Approx((2 + 5) * 1e-3));
  CHECK(t.rerun.host == doctest::Approx((1 + 12) * 1e-3));
}

TEST_CASE_FIXTURE(Fixture, "user buffers leave what outlasts the product, and one piece of the shorter of the two") {
  Layout layout;
  layout.tp = 4;
  TimedOp timed = op(std::nullopt);  // a product of 1 ms forward
  timed.forward_traffic.tp = 0.4e-3;
  CHECK(1e3 * block_time({timed}, layout, rates).forward.tp == doctest::Approx(0.4));
  layout.overlap.tp_comm = true;
  CHECK(1e3 * block_time({timed}, layout, rates).forward.tp == doctest::Approx(0.4 / 4));
  timed.forward_traffic.tp = 1.6e-3;
  CHECK(1e3 * block_time({timed}, layout, rates).forward.tp == doctest::Approx(0.6 + 1.0 / 4));
}

TEST_CASE_FIXTURE(Fixture, "traffic hides no longer than what it runs beside") {
  TimedOp timed = op(std::nullopt);
  timed.forward_traffic.tp_hidden = 1.5e-3;
  const BlockTime beside_product = block_time({timed}, Layout{}, rates);
  CHECK(1e3 * beside_product.forward.tp == doctest::Approx(0.5));
  CHECK(1e3 * beside_product.forward.hidden == doctest::Approx(1));

  Layout ring;
  ring.cp = 2;  // one exchange beside the first of two steps
  timed.forward_traffic = {};
  timed.forward_traffic.cp_hidden = 1.5e-3;
  timed.forward.attention = 2e-3;
  const BlockTime beside_attention = block_time({timed}, ring, rates);
  CHECK(1e3 * beside_attention.forward.cp == doctest::Approx(0.5));
  CHECK(1e3 * beside_attention.forward.hidden == doctest::Approx(1));
}

TEST_CASE("the soft maximum is the larger one, a little more where both are alike") {
  CHECK(soft_max(1, 0) == 1);
  CHECK(soft_max(0, 2) == 2);
  CHECK(soft_max(2, 1) == doctest::Approx(2.0052).epsilon(1e-4));
  CHECK(soft_max(1, 1) == doctest::Approx(1.1225).epsilon(1e-4));
}
