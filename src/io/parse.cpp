// SPDX-License-Identifier: Apache-2.0
#include "io/parse.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "shardfit/base/error.hpp"

namespace shardfit::io {
namespace {

/// nlohmann::json keeps the last of two equal keys; this watches the parser's events and refuses the second.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMaxDepth)
      throw InputError(file_, path(), "JSON nested more than " + std::to_string(kMaxDepth) + " deep", "a plain file");
    if (event == Event::object_start || event == Event::array_start) {
      open_.push_back({{}, {}});
    } else if (event == Event::object_end || event == Event::array_end) {
      open_.pop_back();
    } else if (event == Event::key) {
      const std::string key = parsed.get<std::string>();
      open_.back().key = key;
      if (!open_.back().seen.insert(key).second)
        throw InputError(file_, path(), "key \"" + key + "\" a second time", "each key once");
    }
    return true;
  }

 private:
  struct Open {
    std::set<std::string> seen;
    std::string key;
  };
  /// Keys on the way down; positions in lists are left out.
  std::string path() const {
    std::string text;
    for (const Open& o : open_)
      if (!o.key.empty()) text += "/" + o.key;
    return text;
  }
  std::string file_;
  std::vector<Open> open_;
};

std::string line_and_column(const std::string& text, std::size_t byte) {
  const std::size_t end = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(end), '\n');
  const std::size_t newline = text.rfind('\n', end == 0 ? 0 : end - 1);
  const std::size_t column = end == 0 ? 1 : newline == std::string::npos ? end + 1 : end - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// "...: syntax error while parsing value - unexpected ',' ; expected ']'" without its place and class.
InputError syntax_error(const std::string& text, const std::string& file, const Json::parse_error& error) {
  const std::string what = error.what();
  const std::size_t dash = what.find(" - ");
  std::string got = dash == std::string::npos ? what : what.substr(dash + 3);
  std::string expected = "JSON";
  if (const std::size_t semicolon = got.rfind("; expected "); semicolon != std::string::npos) {
    expected = got.substr(semicolon + 11);
    got.resize(semicolon);
  }
  std::replace(got.begin(), got.end(), '\n', ' ');
  return InputError(file, line_and_column(text, error.byte), got, expected);
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  try {
    return Json::parse(text, DuplicateKeys(file));
  } catch (const Json::parse_error& error) {
    throw syntax_error(text, file, error);
  } catch (const Json::exception& error) {
    throw InputError(file, "", "a number or text that JSON readers cannot hold", "plain JSON");
  }
}

Json parse_json_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, ignored)) throw InputError(path, "", "no readable file", "a JSON file");
  std::ostringstream text;
  text << in.rdbuf();
  if (text.str().empty()) throw InputError(path, "", "an empty file", "a JSON file");
  return parse_json(text.str(), path);
}

}  // namespace shardfit::io
