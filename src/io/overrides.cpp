// SPDX-License-Identifier: Apache-2.0
#include "io/overrides.hpp"

#include "shardfit/base/error.hpp"

namespace shardfit::io {
namespace {

constexpr const char* kForm = "PATH=VALUE, as in training.vision=coco-captions";

void apply(Json& scenario, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw InputError("", "--set", "\"" + text + "\"", kForm);
  Json* at = &scenario;
  for (std::size_t from = 0; from <= equals;) {
    const std::size_t dot = std::min(text.find('.', from), equals);
    const std::string key = text.substr(from, dot - from);
    if (key.empty() || !(at->is_object() || at->is_null())) throw InputError("", "--set", "\"" + text + "\"", kForm);
    at = &(*at)[key];
    from = dot + 1;
  }
  const std::string value = text.substr(equals + 1);
  const Json parsed = Json::parse(value, nullptr, false);
  *at = parsed.is_discarded() ? Json(value) : parsed;
}

}  // namespace

void apply_overrides(Json& scenario, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) apply(scenario, text);
}

}  // namespace shardfit::io
