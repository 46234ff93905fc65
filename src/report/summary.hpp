// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shardfit/report/views.hpp"

namespace shardfit::report {

/// Verdict, where the time goes, and the single change most worth trying: one line.
std::string estimate_summary(const Estimate& estimate, const std::optional<Change>& change);

/// "recompute none -> selective:moe_act: 2,400.1 tokens/s/GPU (+3.1 %), peak 140.20 GiB".
std::string change_text(const Estimate& estimate, const Change& change);

/// The change as a section, for data files and for copying its id; its title depends on whether the layout fits.
Section change_section(const Estimate& estimate, const Change& change);

/// Changes that lower the peak: what each saves, and what it does to the step.
Section savings_section(const Estimate& estimate, std::span<const Change> changes);

/// What the scenario assumed, what the estimate warns of, and what it does not cover.
std::vector<std::string> all_warnings(const Scenario& scenario, const Estimate& estimate);

}  // namespace shardfit::report
