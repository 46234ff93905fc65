// SPDX-License-Identifier: Apache-2.0
// Does data-parallel traffic lengthen a step as a replay of every pass says?
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "estimate/data_parallel_time.hpp"
#include "replay/event_replay.hpp"
#include "schedule/step_time.hpp"

namespace {

using namespace shardfit;
using namespace shardfit::estimate;
using schedule::PipelineShape;

/// A pipeline with its traffic, seconds a stage.
struct Case {
  PipelineShape shape;
  std::vector<double> forward, backward, reductions, gathers;
};

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}
  Case draw(int vpp) {
    constexpr int kStages[] = {1, 2, 4, 8, 16};
    Case c;
    const int pp = vpp > 1 ? kStages[integer(1, 4)] : kStages[integer(0, 4)];
    c.shape = {pp, vpp, pp * integer(2, 12), pp, false};
    const double ratio = real(1.5, 2.5), traffic = real(0, 2);
    for (int i = 0; i < pp; ++i) {
      c.forward.push_back(vpp * real(0.97, 1.03));
      c.backward.push_back(ratio * c.forward.back());
      c.reductions.push_back(vpp * traffic * real(0.9, 1.1));
      c.gathers.push_back(vpp * traffic * real(0.4, 0.6));
    }
    return c;
  }

 private:
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  std::mt19937 random_;
};

double sum(const std::vector<double>& of) {
  double all = 0;
  for (double x : of) all += x;
  return all;
}

/// By the closed forms.
double account(const Case& c, const Layout& layout, bool aligned) {
  DataParallelTime time(layout, c.shape.microbatches, aligned, sum(c.forward), sum(c.backward));
  StageWindow window;
  for (int stage = 0; stage < c.shape.pp; ++stage) {
    const std::size_t at = std::size_t(stage);
    window = {stage, 1, c.forward[at], c.backward[at], window.forward_before, window.backward_before};
    time.add(window, {c.reductions[at], c.gathers[at], 0, 0}, stage == 0);
    window.forward_before += c.forward[at];
    window.backward_before += c.backward[at];
  }
  return schedule::step_time(c.shape, c.forward, c.backward, 0).total() + time.sum().exposed;
}

/// By a replay whose passes await their parameters, and a walk through each stage's last backwards.
double played(const Case& c, const Layout& layout, bool aligned) {
  const int pp = c.shape.pp, vpp = c.shape.vpp;
  std::vector<double> forward, backward, gathers, gathered_at;
  for (int v = 0; v < vpp; ++v)
    for (int stage = 0; stage < pp; ++stage) {
      const std::size_t at = std::size_t(stage);
      forward.push_back(c.forward[at] / vpp);
      backward.push_back(c.backward[at] / vpp);
      // The first stage gathers bucket by bucket, behind the forward that uses them.
      const double one = c.gathers[at] / vpp, hidden = stage == 0 ? c.forward[at] / vpp : 0;
      gathers.push_back(std::max(0.0, one - hidden));
      gathered_at.push_back((v + 1) * one - hidden);
    }
  replay::ReplayInput in{c.shape, forward, backward, 0, false};
  if (layout.overlap.param_gather)
    (aligned && vpp > 1 ? in.gathered_at : in.gathers) = aligned && vpp > 1 ? gathered_at : gathers;
  const replay::Replay replay = replay::play(in);

  double finish = 0;
  for (int stage = 0; stage < pp; ++stage) {
    const std::size_t at = std::size_t(stage);
    double reduced = 0, last = 0;
    for (const replay::ReplayEvent& event : replay.timeline[at]) {
      last = std::max(last, event.end);
      if (event.kind != replay::PassKind::backward || event.microbatch + 1 < c.shape.microbatches) continue;
      const double begins = stage == 0 ? event.start : event.end;
      if (layout.overlap.grad_reduce) reduced = std::max(reduced, begins) + c.reductions[at] / vpp;
    }
    finish = std::max(finish, layout.overlap.grad_reduce ? std::max(last, reduced) : last + c.reductions[at]);
  }
  const double after = layout.overlap.param_gather ? 0 : *std::max_element(c.gathers.begin(), c.gathers.end());
  return finish + after;
}

}  // namespace

TEST_CASE("reductions and gathers of stages of about equal time: within 2 % of the replay") {
  constexpr double kTolerance = 0.02;
  Cases cases(20261201);
  for (const int vpp : {1, 2, 4})
    for (const bool overlaps : {false, true})
      for (const bool aligned : {false, true})
        for (int i = 0; i < 100; ++i) {
          const Case c = cases.draw(vpp);
          Layout layout;
          layout.pp = c.shape.pp;
          layout.vpp = vpp;
          layout.sharding = Sharding::optimizer;
          layout.overlap.grad_reduce = layout.overlap.param_gather = overlaps;
          CAPTURE(vpp);
          CAPTURE(overlaps);
          CAPTURE(aligned);
          CAPTURE(c.shape.pp);
          CAPTURE(c.shape.microbatches);
          CAPTURE(c.reductions.front());
          CAPTURE(c.gathers.front());
          CHECK(account(c, layout, aligned) / played(c, layout, aligned) == doctest::Approx(1).epsilon(kTolerance));
        }
}
