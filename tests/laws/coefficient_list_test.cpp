// SPDX-License-Identifier: Apache-2.0
// docs/coefficients.md lists the numbers of the step-time model, in data and in code: each with its name, file and value.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(std::string(SHARDFIT_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "| `a` | `b` | ..." -> a, b, ...
std::vector<std::string> in_backticks(const std::string& line) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; (at = line.find('`', at)) != std::string::npos; ++at) {
    const std::size_t close = line.find('`', at + 1);
    if (close == std::string::npos) break;
    parts.push_back(line.substr(at + 1, close - at - 1));
    at = close;
  }
  return parts;
}

}  // namespace

TEST_CASE("values in docs/coefficients.md are those of the files") {
  std::istringstream lines(file_text("docs/coefficients.md"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = in_backticks(line);
    if (!line.starts_with("| `") || parts.size() < 3) continue;
    CAPTURE(line);
    std::string code = file_text(parts[1]);
    std::replace(code.begin(), code.end(), '\n', ' ');
    const bool assigned = code.find(parts[0] + " = " + parts[2]) != std::string::npos;
    const bool braced = code.find(parts[0] + parts[2]) != std::string::npos;
    const bool data = code.find("\"" + parts[0] + "\": {\"value\": " + parts[2] + ",") != std::string::npos;
    CHECK((assigned || braced || data));
    ++rows;
  }
  CHECK(rows > 50);
}
