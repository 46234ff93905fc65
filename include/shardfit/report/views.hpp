// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shardfit/report/document.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit {

// Documents of results. They read values and compute nothing: every figure was in the result already.

/// What changing one field of a layout would give.
struct Change {
  std::string field, from, to;  ///< "recompute", "none", "selective:moe_act"
  Layout layout;
  Quick quick;
};

/// What was looked for, space sizes, refusals by reason, the Pareto front, near-ties, neighbours, what more memory would
/// bring, and the best layouts that fit.
Document sweep_document(const Study& study, const SweepResult& result);

/// CSV of candidates: figures, job, layout fields, layout_id.
void write_candidates_csv(const Study& study, std::span<const Judged> candidates, std::ostream& out);

/// The two halves of such a file: its header, and lines for some candidates.
std::string candidates_csv_header();
/// Makes the lines. Threads may call it at the same time; the tables of each are kept for its next call. Refers to the study.
class CandidateLines {
 public:
  explicit CandidateLines(const Study& study);
  std::string operator()(std::span<const Candidate> candidates) const;

 private:
  struct Pool;
  const Study* study_;
  std::shared_ptr<Pool> pool_;
};

/// Verdict, throughput, memory by stage, the fullest rank's bill, step time, traffic. `change`: the single change that
/// helps most, if one was looked for and found.
Document estimate_document(const Scenario& scenario, const Estimate& estimate, const std::optional<Change>& change = {});

/// Whether one layout is allowed and fits.
struct CheckResult {
  Layout layout;
  std::vector<Violation> violations;
  std::vector<Cure> cures;             ///< one a violation
  std::optional<PipelineSplit> split;  ///< under which the stages share the layers out and no other rule is broken
  std::optional<Estimate> estimate;    ///< only of a layout without violations
  std::optional<Change> change;        ///< of a layout that does not fit: the single change that makes it fit
  bool ok() const { return violations.empty() && estimate && estimate->verdict.fits; }
};
Document check_document(const Scenario& scenario, const CheckResult& result);

/// Which parts of an explanation are wanted; all but the timeline if none is set.
struct ExplainParts {
  bool memory = false, time = false, traffic = false, modules = false, timeline = false;
};
/// Every term of a layout with its formula, source and what it leaves out; kept tensors, collectives, parts of the model.
/// `savings`: changes that lower the peak, shown with the memory terms.
Document explain_document(const Scenario& scenario, const Estimate& estimate, ExplainParts parts,
                          std::span<const Change> savings = {});

/// "got 3 (tp), need 64 (num_attention_heads)": the two numbers of a violation.
std::string numbers_text(const Violation& violation);
/// The same behind its rule: "tp_divides_heads: got ...".
std::string violation_text(const Violation& violation);
/// "try tp = 2 or 4"; empty if no single axis cures it.
std::string cure_text(const Cure& cure);

}  // namespace shardfit
