// SPDX-License-Identifier: Apache-2.0
#include "shardfit/report/document.hpp"

#include <algorithm>

#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"

namespace shardfit {

std::string data_key(const Column& column) {
  if (column.kind == ColumnKind::bytes) return column.key + "_gib";
  if (column.kind == ColumnKind::seconds) return column.key + "_s";
  return column.key;
}

Cell data_value(const Cell& cell) {
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return in_gib(*bytes);
  if (const auto* seconds = std::get_if<Seconds>(&cell)) return seconds->value;
  return cell;
}

namespace {

std::string listed(const std::vector<std::string_view>& keys) {
  std::string text;
  for (std::string_view key : keys) {
    if (!text.empty()) text += ", ";
    text += key;
  }
  return text;
}

}  // namespace

Document only_sections(Document document, const std::vector<std::string>& keys) {
  if (keys.empty()) return document;
  std::vector<std::string_view> known;
  for (const Section& section : document.sections) known.push_back(section.key);
  for (const std::string& key : keys) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto near = nearest_name(key, known);
    throw InputError("", "--section", key, "one of " + listed(known), near ? "did you mean " + *near + "?" : "");
  }
  std::erase_if(document.sections,
                [&](const Section& section) { return std::find(keys.begin(), keys.end(), section.key) == keys.end(); });
  return document;
}

}  // namespace shardfit
