// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/layout.hpp"

namespace shardfit::estimate {

/// Of a stage's step: calls of data parallelism by what they hide behind, and the optimizer, s.
struct StepConstants {
  double reductions = 0, gathers = 0, exposed = 0, optimizer = 0;
};

/// When a stage works, s of one micro-batch through all its chunks.
struct StageWindow {
  int stage = 0;
  int alike = 1;  ///< stages in a row, from this one, that run the same
  double forward = 0, backward = 0;
  double forward_before = 0, backward_before = 0;  ///< of all stages before it
};

/// What data parallelism and the optimizer add to a step, s.
struct StepAddition {
  double exposed = 0;
  double hidden = 0;     ///< behind compute of the slowest stage, which it slows
  double optimizer = 0;  ///< of the stage that has the most to do: the gradient norm lets none begin before all
};

/// Adds up, stage by stage, how long gathers of parameters delay the first forwards, and by how much reductions of gradients
/// outlast the last backward.
class DataParallelTime {
 public:
  /// `forward_round`, `backward_round`: one micro-batch through all stages, s. `aligned`: all stages gather a chunk's
  /// parameters at the same time (align_param_gather), interleaved pipelines only.
  DataParallelTime(const Layout& layout, int microbatches, bool aligned, double forward_round, double backward_round)
      : layout_(layout),
        microbatches_(microbatches),
        aligned_(aligned && layout.vpp > 1),
        forward_round_(forward_round),
        backward_round_(backward_round) {}
  DataParallelTime(const Layout&&, int, bool, double, double) = delete;  // it keeps a reference
  /// Stages in their order, of stages alike only the first. `sets_pace`: one of these is the slowest stage.
  void add(const StageWindow& window, const StepConstants& of, bool sets_pace);
  StepAddition sum() const;

 private:
  void add_whole(const StageWindow& window, const StepConstants& of, bool sets_pace);
  double reductions_outlast(const StageWindow& window, double seconds) const;
  double gathers_delay(const StageWindow& window, double seconds) const;

  const Layout& layout_;
  int microbatches_;
  bool aligned_;
  double forward_round_, backward_round_;
  double latest_ = 0, one_by_one_ = 0;  ///< delays of the first forwards: of aligned gathers, of gathers as needed
  double drain_ = 0;                    ///< the latest end of what follows the last backward
  double after_ = 0;                    ///< gathers that nothing hides
  double hidden_ = 0, optimizer_ = 0;
};

}  // namespace shardfit::estimate
