// SPDX-License-Identifier: Apache-2.0
// Are the closed forms of the schedules what a replay of every pass gives?
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "replay/event_replay.hpp"
#include "schedule/live_chunks.hpp"
#include "schedule/step_time.hpp"

namespace {

using namespace shardfit;
using schedule::PipelineShape;

/// A shape with the times of its stages.
struct Case {
  PipelineShape shape;
  std::vector<double> forward, backward;  // a stage, a micro-batch
  double p2p = 0;
};

std::vector<double> by_chunk(const std::vector<double>& stages, int vpp) {
  std::vector<double> chunks;
  for (int vp = 0; vp < vpp; ++vp)
    for (double t : stages) chunks.push_back(t / vpp);
  return chunks;
}

replay::Replay replayed(const Case& c) {
  const std::vector<double> forward = by_chunk(c.forward, c.shape.vpp), backward = by_chunk(c.backward, c.shape.vpp);
  return replay::play({c.shape, forward, backward, c.p2p, c.shape.vpp == 1});
}

double error_of(const Case& c) {
  return schedule::step_time(c.shape, c.forward, c.backward, c.p2p).total() / replayed(c).finish - 1;
}

enum class Kind { nearly_equal, slow_first, slow_last, slow_any, random };

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}

  Case draw(bool interleaved, Kind kind) {
    constexpr int kStages[] = {2, 3, 4, 6, 8, 12, 16};
    Case c;
    PipelineShape& s = c.shape;
    s.pp = kStages[integer(0, 6)];
    s.vpp = interleaved ? integer(2, 6) : 1;
    s.group = s.pp + (interleaved && integer(0, 2) == 0 ? integer(0, s.pp) : 0);
    s.microbatches = interleaved ? s.group * integer(1, 8) : integer(1, 8 * s.pp);
    if (interleaved && s.microbatches > s.group && s.group > s.pp && integer(0, 1))
      s.microbatches += integer(s.pp, s.group - 1);  // a smaller last group
    s.expert_overlap = interleaved && integer(0, 3) == 0;

    const double ratio = real(1.2, 2.6);
    for (int i = 0; i < s.pp; ++i) {
      const double scale = kind == Kind::random ? real(0.6, 1.4) : real(0.97, 1.03);
      c.forward.push_back(scale);
      c.backward.push_back(ratio * (kind == Kind::random ? real(0.6, 1.4) : scale));
    }
    const int slow = kind == Kind::slow_first ? 0 : kind == Kind::slow_last ? s.pp - 1 : integer(0, s.pp - 1);
    if (kind == Kind::slow_first || kind == Kind::slow_last || kind == Kind::slow_any) {
      const double factor = real(1.1, 2.5);
      c.forward[std::size_t(slow)] *= factor;
      c.backward[std::size_t(slow)] *= factor;
    }
    if (integer(0, 1)) c.p2p = real(0, 0.05) / s.vpp;
    return c;
  }

 private:
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  std::mt19937 random_;
};

std::vector<std::vector<int>> peak_vectors(const replay::Replay& replay, int rank, int vpp, bool pairs) {
  int highest = 0;
  std::vector<std::vector<int>> peaks;
  const std::vector<replay::LiveCount> counts = replay::live_over_time(replay, rank, vpp, pairs);
  for (const replay::LiveCount& count : counts) highest = std::max(highest, count.total);
  for (const replay::LiveCount& count : counts)
    if (count.total == highest) peaks.push_back(count.per_chunk);
  std::sort(peaks.begin(), peaks.end());
  peaks.erase(std::unique(peaks.begin(), peaks.end()), peaks.end());
  return peaks;
}

}  // namespace

TEST_CASE("step time of unequal stages is within 2 % of the replay") {
  constexpr double kTolerance = 0.02, kTypical = 0.002;
  constexpr int kDraws = 100;
  Cases cases(20260823);
  for (const bool interleaved : {false, true})
    for (const Kind kind : {Kind::nearly_equal, Kind::slow_first, Kind::slow_last, Kind::slow_any, Kind::random}) {
      std::vector<double> errors;
      for (int i = 0; i < kDraws; ++i) {
        const Case c = cases.draw(interleaved, kind);
        CAPTURE(interleaved);
        CAPTURE(int(kind));
        CAPTURE(c.shape.pp);
        CAPTURE(c.shape.vpp);
        CAPTURE(c.shape.microbatches);
        CAPTURE(c.shape.group);
        CAPTURE(c.shape.expert_overlap);
        const double error = error_of(c);
        CHECK(std::fabs(error) < kTolerance);
        errors.push_back(std::fabs(error));
      }
      std::sort(errors.begin(), errors.end());
      CHECK(errors[kDraws / 2] < kTypical);
    }
}

TEST_CASE("an embedding on the first chunk, a head and fewer layers on the last: within 3 %") {
  constexpr double kTolerance = 0.03;
  std::mt19937 random(11);
  const auto integer = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto real = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (int draw = 0; draw < 200; ++draw) {
    const int pp = 1 << integer(1, 4), vpp = integer(2, 6), layers = integer(1, 4);
    const PipelineShape shape{pp, vpp, pp * integer(2, 10), pp, false};
    const double ratio = real(1.5, 2.5), embedding = real(0.05, 0.4), head = real(0.5, 3);  // in layers' forwards
    std::vector<double> forward(std::size_t(pp * vpp), layers), backward(forward.size(), layers * ratio);
    forward.front() += 0.3 * embedding;
    backward.front() += embedding;
    const int fewer = std::min(layers, integer(0, 2));
    forward.back() += head - fewer;
    backward.back() += 2 * head - fewer * ratio;

    std::vector<double> stage_forward(std::size_t(pp), 0.0), stage_backward = stage_forward;
    for (std::size_t c = 0; c < forward.size(); ++c) {
      stage_forward[c % std::size_t(pp)] += forward[c];
      stage_backward[c % std::size_t(pp)] += backward[c];
    }
    CAPTURE(pp);
    CAPTURE(vpp);
    CAPTURE(shape.microbatches);
    const double played = replay::play({shape, forward, backward, 0, false}).finish;
    CHECK(std::fabs(schedule::step_time(shape, stage_forward, stage_backward, 0).total() / played - 1) < kTolerance);
  }
}

TEST_CASE("equal stages: the textbook bubble, exactly") {
  const PipelineShape shape{4, 1, 12, 4, false};
  const std::vector<double> forward(4, 1.0), backward(4, 2.0);
  const schedule::StepTime t = schedule::step_time(shape, forward, backward, 0);
  CHECK(t.busy == doctest::Approx(36));
  CHECK(t.bubble == doctest::Approx(3 * 3));  // (pp - 1)(F + B)
  CHECK(t.total() == doctest::Approx(replayed({shape, forward, backward, 0}).finish));
}

TEST_CASE("live chunks are those of the replay, at every stage") {
  for (const int pp : {1, 2, 3, 4, 8})
    for (const int vpp : {1, 2, 3, 5})
      for (const int wider : {0, 1, 3})
        for (const int groups : {1, 2, 3, 9})
          for (const int remainder : {0, 1})
            for (const bool overlap : {false, true}) {
              if (pp == 1 && vpp > 1) continue;  // no virtual stages without a pipeline
              PipelineShape shape{pp, vpp, 0, pp + wider, overlap};
              shape.microbatches = shape.group * groups + (remainder ? std::min(pp, shape.group - 1) : 0);
              const std::vector<double> forward(std::size_t(pp), 1.0), backward(std::size_t(pp), 2.0);
              const replay::Replay played = replayed({shape, forward, backward, 0});
              for (int stage = 0; stage < pp; ++stage) {
                CAPTURE(pp);
                CAPTURE(vpp);
                CAPTURE(shape.group);
                CAPTURE(shape.microbatches);
                CAPTURE(overlap);
                CAPTURE(stage);
                CHECK(schedule::live_chunks(shape, stage) == peak_vectors(played, stage, vpp, overlap));
              }
            }
}
