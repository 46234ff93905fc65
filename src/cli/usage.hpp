// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace shardfit::cli {

/// A usage error in one line, with the nearest known subcommand or flag where a word looks like a slip.
std::string usage_message(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& error);

}  // namespace shardfit::cli
