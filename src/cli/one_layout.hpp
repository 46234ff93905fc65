// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/layout_flags.hpp"
#include "cli/output.hpp"
#include "io/load_study.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit::cli {

/// The flags of a command that looks at one layout.
struct OneLayoutFlags {
  std::string scenario;
  std::string run;  ///< id of a row, where `scenario` is a file of measured runs
  io::JobChoice job;
  LayoutChoice choice;
  OutputFlags output;
};

void add_one_layout_flags(CLI::App& command, OneLayoutFlags& flags);

/// The scenario (with what was assumed about the layout among its assumptions) and the layout.
struct OneLayout {
  Scenario scenario;
  Layout layout;
};
OneLayout load_one_layout(const OneLayoutFlags& flags, const std::string& command);

/// Rules broken and their cures; nothing about memory.
CheckResult check_rules(const Job& job, const Layout& layout);

}  // namespace shardfit::cli
