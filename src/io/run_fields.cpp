// SPDX-License-Identifier: Apache-2.0
#include "io/run_fields.hpp"

namespace shardfit::io {
namespace {

using Fields = std::map<std::string, std::string>;

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string list_text(const Json& list) {
  std::string text;
  for (const Json& item : list) {
    if (item.is_structured()) continue;
    if (!text.empty()) text += "+";
    text += scalar_text(item);
  }
  return text.empty() ? "none" : text;
}

/// Depth is bounded by the parser.
Fields flatten(const Json& value, const std::string& path, Fields found) {
  if (value.is_object()) {
    for (const auto& item : value.items())
      found = flatten(item.value(), path.empty() ? item.key() : path + "." + item.key(), std::move(found));
  } else {
    found[path] = value.is_array() ? list_text(value) : scalar_text(value);
  }
  return found;
}

}  // namespace

std::map<std::string, std::string> run_fields(const Json& run) {
  Fields fields;
  Json top = Json::object();
  for (const auto& item : run.items())
    if (!item.value().is_object()) top[item.key()] = item.value();
  if (run.contains("model") && run["model"].is_object()) {
    const Json& model = run["model"];
    top["model"] = model.contains("name") ? model["name"] : Json("inline");
  }
  const auto add = [&fields](const Json& block, const std::string& prefix) {
    for (const auto& [path, text] : flatten(block, prefix, {})) {
      fields.emplace(path, text);
      fields.emplace(path.substr(path.rfind('.') + 1), text);
      if (!prefix.empty()) fields.emplace(path.substr(prefix.size() + 1), text);  // "recompute.modules"
    }
  };
  add(top, "");
  for (const char* block : {"training", "layout", "stack", "assumed", "measured"})
    if (run.contains(block) && run[block].is_object() && !run[block].empty()) add(run[block], block);
  return fields;
}

}  // namespace shardfit::io
