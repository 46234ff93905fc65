// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shardfit/spec/scenario.hpp"

namespace shardfit::validation {

/// A real run: what was run (a scenario whose space holds one layout) and what was measured. Read by
/// io/load.hpp
/// (`load_measured`); a row never throws: what stands in the way of computing it is kept as text.
struct MeasuredRun {
  std::string id, source, file;
  Scenario scenario;  ///< undefined if `invalid` is not empty

  /// Measured quantities by the field's own name: "peak_allocated_bytes", "step_time_s", "peak_gib", ...
  std::map<std::string, double> quantities;
  /// Quantities of every rank: "peak_allocated_mib_by_rank", "peak_reserved_mib_by_rank".
  std::map<std::string, std::vector<double>> by_rank;
  bool each_rank = false;   ///< measured.rank: each; else the last pipeline stage only
  std::optional<bool> oom;  ///< true: out of memory; false: ran; none: not known
  /// Started from a checkpoint, so that moments were there in its first step. No field of a row: a stated fact
  /// (validation/facts.hpp).
  bool resumed = false;
  std::string peak_kind;  ///< what `peak_gib` is, in the source's words

  std::string invalid;                   ///< why the row could not be read; empty: it was read
  std::vector<std::string> unsupported;  ///< features of the run that cannot be computed
  std::vector<std::string> incomplete;   ///< fields without which the run cannot be scored
  /// The stack without figures that were inferred from the run's own sizes (workspaces, placeholders, kept
  /// micro-batches), where it states any.
  std::optional<StackProfile> stack_by_profile;
  bool global_batch_assumed = false;  ///< then time and throughput cannot be scored

  /// Every scalar field as text, for `--where`: by dotted path ("layout.tp") and by last name ("tp"; the
  /// first of top level, training, layout, stack, assumed, measured that has it). Lists are joined by "+";
  /// booleans are true/false; `tuned` is added.
  std::map<std::string, std::string> fields;

  std::string release, status, perf_grade, group, variant;
  std::vector<std::string> family;
  /// One of the rows that step time is scored on: a published or tuned run of a text model with a step time
  /// or TFLOP/s, complete, and with its LoRA block if it is a LoRA run.
  bool tuned = false;
};

/// Two runs that differ by a stated change, and how a quantity moved from `a` to `b`.
struct MeasuredEffect {
  std::string id, a, b, change, kind;
  std::string quantity;            ///< step_time_per_token, peak_memory, outcome, tflops_per_gpu
  std::optional<double> measured;  ///< a ratio b/a, or a difference in `unit`
  std::string outcome;             ///< "oom->fits" where the quantity is an outcome
  std::string unit;                ///< "GB" for differences; empty for ratios
  double noise = 0;                ///< relative, or in `unit`
  bool clean = false;              ///< nothing but `change` differs
  bool relation_only = false;      ///< only the ratio is stated in the source
  bool a_died = false, b_died = false;
  std::string family, release, note, peak;  ///< peak: which peak the memory difference is of
  std::vector<std::string> also_differs, one_sided;
};

}  // namespace shardfit::validation
