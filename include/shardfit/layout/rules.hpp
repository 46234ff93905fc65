// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardfit/layout/job_facts.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// One reason code a validity rule; the enumerators and their words are generated from one table (layout/rules/*.cpp).
using RuleId = int;

enum class RuleSource {
  megatron_core,
  megatron_lm_arguments,
  megatron_bridge,
  transformer_engine,
  deepep,
  torch,
  shardfit,
  count
};
template <>
inline constexpr NameList<RuleSource> kNames<RuleSource> = {
    "megatron-core", "megatron-lm arguments", "megatron-bridge", "transformer-engine", "deepep", "torch", "shardfit"};

/// A layout breaks a rule: the two numbers that disagree ("3 does not divide 64"). An ordinary value, never thrown.
struct Violation {
  RuleId rule = -1;
  std::int64_t got = 0, need = 0;
};

/// The words of a rule, for `list rules`, `check` and docs/rules.md.
struct RuleInfo {
  std::string_view code;       ///< "tp_divides_heads"
  std::string_view section;    ///< grid, tensor, pipeline, moe, recompute, precision, ...
  std::string_view condition;  ///< what must hold
  std::string_view got, need;  ///< what the two numbers of a violation are
  RuleSource asserted_by;
  std::string_view pointer;  ///< where in the public source
};

std::span<const RuleInfo> rules();

/// The first rule that the layout breaks, cheapest rules first; no allocation.
std::optional<Violation> first_violation(const Job& job, const Layout& layout);

/// The same with facts taken once: for sweeps.
std::optional<Violation> first_violation(const JobFacts& facts, const Layout& layout);

/// Every rule that the layout breaks.
std::vector<Violation> all_violations(const Job& job, const Layout& layout);

/// Whether a rule is about a setting that the software refuses, not about sizes that have to be whole: the figures of a
/// layout that breaks such a rule alone still mean something. For runs that are known to have run.
bool is_setting(RuleId rule);
/// The codes of these rules.
std::span<const std::string_view> setting_rules();

/// Values of the axis that a rule is about which would satisfy it, nearest first (at most `most`); empty if no single
/// axis cures it. For "try 2 or 4".
struct Cure {
  std::string_view axis;
  std::vector<int> values;
};
Cure nearest_cure(const Job& job, const Layout& layout, const Violation& violation, int most = 3);

/// Something that the stack changes or leaves out by itself, with at most a line in its log. Not a refusal: a warning.
struct Alteration {
  std::string_view code, what, pointer;
};
std::vector<Alteration> alterations(const Job& job, const Layout& layout);
std::vector<Alteration> all_alterations();

/// The cp_comm_type that the model's attention runs with where a run states none: a2a for attention sinks and sliding
/// windows, all_gather for attention over compressed keys, else p2p.
CpCommType assumed_cp_comm_type(const ModelSpec& model);

/// docs/rules.md: every rule, and every known validity condition of the stacks with the rules that hold it or the reason
/// why it is left out.
std::string rules_markdown();

}  // namespace shardfit
