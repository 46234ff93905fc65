// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/cli.hpp"

// The guides' command blocks say what the program prints today. A block is fenced as ```console; a line that starts with
// "$ shardfit " is a command (a backslash at its end joins the next line), what follows to the next command or the fence is
// its output. After a change that is meant: SHARDFIT_UPDATE_GOLDEN=1 ctest -R golden, then read the difference.

namespace {

const std::string kSource = SHARDFIT_SOURCE_DIR;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Words of a command line; single quotes hold a word together.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) words.emplace_back(), open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) words.emplace_back(), open = true;
      words.back() += c;
    }
  }
  return words;
}

std::string output_of(const std::string& command) {
  std::vector<std::string> args = words_of(command);
  args.erase(args.begin(), args.begin() + 2);  // "$", "shardfit"
  std::ostringstream out, err;
  const int code = shardfit::cli::run(args, out, err);
  CAPTURE(err.str());
  CHECK((code == 0 || code == 1));
  std::string text;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find_last_not_of(' ');
    text += (end == std::string::npos ? "" : line.substr(0, end + 1)) + "\n";
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

/// The text with the output of every command block made anew.
std::string with_outputs(const std::string& text) {
  std::istringstream lines(text);
  std::string made, line;
  bool in_block = false, in_output = false;
  while (std::getline(lines, line)) {
    if (line == "```console")
      in_block = true;
    else if (in_block && line == "```")
      in_block = in_output = false;
    if (in_block && line.starts_with("$ shardfit ")) {
      std::string command = line;
      made += line + "\n";
      while (command.ends_with("\\") && std::getline(lines, line)) {
        made += line + "\n";
        command = command.substr(0, command.size() - 1) + line;
      }
      made += output_of(command);
      in_output = true;
    } else if (!in_output) {
      made += line + "\n";
    }
  }
  return made;
}

}  // namespace

TEST_CASE("the guides' commands print what the guides show") {
  ::setenv("SHARDFIT_DATA_DIR", kSource.c_str(), 1);
  for (const char* guide : {"docs/moe-vlm.md"}) {
    CAPTURE(guide);
    const std::string path = kSource + "/" + guide, text = file_text(path), made = with_outputs(text);
    if (std::getenv("SHARDFIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << made;
    CHECK(made == (std::getenv("SHARDFIT_UPDATE_GOLDEN") ? file_text(path) : text));
    CHECK(made.find("$ shardfit ") != std::string::npos);
  }
}
