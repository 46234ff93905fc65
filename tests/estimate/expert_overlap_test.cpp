// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "estimate/block_time.hpp"

using namespace shardfit;
using namespace shardfit::estimate;

namespace {

TimedOp op(block::View view, double forward, double backward, double traffic) {
  TimedOp o;
  o.view = view;
  o.forward.gemm = forward;
  o.backward.gemm = backward;
  o.forward_traffic.ep = o.backward_traffic.ep = traffic;
  return o;
}

/// Attention 1 forward and 2 backward, experts 0.5 and 1; each exchange takes `traffic`.
BlockTime layer(double traffic) {
  const compute::Device device{};
  TimingRates rates;
  rates.device = &device;
  return block_time({op(block::View::attention, 1, 2, 0), op(block::View::dispatch, 0, 0, traffic),
                     op(block::View::experts, 0.5, 1, 0), op(block::View::combine, 0, 0, traffic)},
                    Layout{}, rates);
}

}  // namespace

TEST_CASE("short exchanges hide whole: a pair has compute beside each of them") {
  const BlockTime t = layer(0.25);
  CHECK(t.forward.ep_hideable == doctest::Approx(0.5));
  CHECK(t.backward.ep_hideable == doctest::Approx(0.5));
  CHECK(t.forward.exposed_ep(1) == doctest::Approx(0));
  // Hidden traffic slows what it hides behind.
  CHECK(t.forward.device(1, 0.2) == doctest::Approx(1.5 + 0.2 * 0.5));
  CHECK(t.forward.device(0, 0.2) == doctest::Approx(1.5 + 0.5));
}

TEST_CASE("long exchanges hide as far as the compute beside them reaches") {
  // combine's gradient behind attention forward: 1 of 4; both dispatches behind both passes of the experts: 1.5 of 8, half
  // in each; combine behind attention backward: 2 of 4.
  const BlockTime t = layer(4);
  CHECK(t.forward.ep_hideable == doctest::Approx(0.75 + 2));
  CHECK(t.backward.ep_hideable == doctest::Approx(0.75 + 1));
}
