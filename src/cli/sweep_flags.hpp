// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "cli/loaded_study.hpp"
#include "cli/output.hpp"
#include "io/partial_file.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit::cli {

/// What `sweep` and `merge` both take: the study, and how its result is shown.
struct SweepFlags {
  std::string scenario, pareto_csv, top_csv;
  int top = 20, sensitivity = 1;
  io::JobChoice job;
  LayoutChoice layout;
  GoalFlags goals;
  OutputFlags output;
};

void add_sweep_flags(CLI::App& command, SweepFlags& flags);

/// The options that the result depends on.
SweepOptions result_options(const SweepFlags& flags);

/// The result of a part, with the layout that comes nearest to fitting where none fits.
SweepResult result_with_nearest(const Study& study, const SweepOptions& options, PartialSweep&& part);

/// kDone if a layout fits, kDoesNotFit if none does, kInterrupted if not all were looked at.
int exit_code(const SweepResult& result);

/// The study of the flags, and the key of its parts.
struct KeyedStudy {
  explicit KeyedStudy(const SweepFlags& flags);
  io::StudyFile file;
  LoadedStudy loaded;
  int kept;  ///< layouts that a part keeps by the objective
  const Study& study() const { return loaded.study(); }
  io::PartialKey key() const;
};

/// Files of candidates that were asked for by name: opened at once, written at the end, so that a path that cannot be
/// written does not cost a sweep.
class ResultFiles {
 public:
  explicit ResultFiles(const SweepFlags& flags);
  /// Throws InputError for a --section that the result will not have: before the work, not after.
  void check_sections(const Study& study) const;
  /// Writes the document, and the CSVs of a complete result: half of one would look whole.
  void write(const Study& study, const SweepResult& result, Context& context);

 private:
  OutputFlags output_flags_;
  Output output_;
  std::optional<AtomicFile> pareto_, top_;
};

}  // namespace shardfit::cli
