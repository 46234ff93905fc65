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
BlockTime layer(double traffic, Dispatcher dispatcher = Dispatcher::alltoall, int sms = 0) {
  compute::Device device{};
  device.sms = 148;
  TimingRates rates;
  rates.device = &device;
  rates.network.dispatcher = dispatcher;
  rates.network.dispatcher_sms = sms;
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

TEST_CASE("hidden traffic slows compute the more, the more SMs the dispatcher takes") {
  const auto time = [](int sms) { return layer(0.25, Dispatcher::hybridep, sms).forward.device(1, 0.2); };
  CHECK(time(32) == doctest::Approx(layer(0.25).forward.device(1, 0.2)));  // as the fitted runs have it
  CHECK(time(16) == doctest::Approx(1.5 + 0.1 * 0.5));
  CHECK(time(108) > time(32));
  // Sums of stages read the same through a load.
  const PassTime t = layer(0.25, Dispatcher::hybridep, 16).forward;
  CHECK(t.load(0.2).device_at(1) == doctest::Approx(t.device(1, 0.2)));
}
