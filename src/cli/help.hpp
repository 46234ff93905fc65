// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace shardfit::cli {

/// Help that opens with copyable examples: a command's footer (its examples) is printed first, then its description. In
/// the list of subcommands only the description stands.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Refuses an option's value that is no text at all, which a script's unset variable leaves: it would count as not given.
CLI::Validator some_text();

/// Examples from "line\nline", one command each.
std::string examples(const std::string& lines);

}  // namespace shardfit::cli
