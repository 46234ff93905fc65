// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "io/words.hpp"

namespace shardfit::cli {
namespace {

/// The subcommand that the arguments name; null if they name none.
const CLI::App* command_of(const CLI::App& app, const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (arg.starts_with('-')) continue;
    for (const CLI::App* command : app.get_subcommands({}))
      if (command->get_name() == arg) return command;
    return nullptr;
  }
  return nullptr;
}

std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = nearest_name(word, views);
  return near ? "; did you mean " + *near + "?" : "";
}

/// The first flag that the command does not have, without its "=value".
std::string unknown_flag(const CLI::App& command, const std::vector<std::string>& args) {
  const std::vector<std::string> known = flag_names(command);
  for (const std::string& arg : args) {
    const std::string name = arg.substr(0, arg.find('='));
    if (name.starts_with("--") && name.size() > 2 && std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return "";
}

}  // namespace

std::string usage_message(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& error) {
  const CLI::App* command = command_of(app, args);
  if (!command) {
    const auto word = std::find_if(args.begin(), args.end(), [](const std::string& arg) { return !arg.starts_with('-'); });
    if (word == args.end()) {
      const std::string flag = unknown_flag(app, args);
      return flag.empty() ? "no subcommand given; see `shardfit --help`"
                          : "unknown flag " + flag + did_you_mean(flag, flag_names(app)) + " (see `shardfit --help`)";
    }
    std::vector<std::string> names;
    for (const CLI::App* known : app.get_subcommands({})) names.push_back(known->get_name());
    return "unknown subcommand " + *word + did_you_mean(*word, names) + " (see `shardfit --help`)";
  }
  const std::string see = " (see `shardfit " + command->get_name() + " --help`)";
  const std::string flag = unknown_flag(*command, args);
  if (!flag.empty()) return "unknown flag " + flag + did_you_mean(flag, flag_names(*command)) + see;
  return error.what() + see;
}

}  // namespace shardfit::cli
