// SPDX-License-Identifier: Apache-2.0
#include "io/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/data_dir.hpp"
#include "io/load.hpp"
#include "io/measured_profile.hpp"
#include "io/reader.hpp"
#include "shardfit/spec/precision.hpp"

namespace shardfit::io {
namespace {

constexpr const char* kFolder = "recipes";

std::vector<std::string> texts(Object& o, const char* key) {
  const auto v = o.find(key);
  return v ? v->as_texts() : std::vector<std::string>{};
}

RecipeSetting read_setting(const Value& value, const std::string& file) {
  Object o(value);
  RecipeSetting s;
  s.models = texts(o, "models");
  s.hardware = texts(o, "hardware");
  s.runs = o.get("runs", "");
  s.precision = name_of(o.at("precision").as_enum<Precision>());
  s.from = o.get("from", "");
  s.to = o.get("to", "");
  const Value training = o.at("training");
  if (!training.is_object() || training.json().empty()) training.refuse("fields of a training block");
  s.training = training.json();
  s.source = o.at("source").as_text();
  s.file = file;
  o.done();
  return s;
}

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool states_any(const Json& training, const Json& fields) {
  return std::any_of(fields.items().begin(), fields.items().end(), [&](const auto& field) {
    return training.is_object() && training.contains(field.key()) && !training[field.key()].is_null();
  });
}

std::string words(const RecipeSetting& s) {
  std::string text;
  for (const auto& field : s.training.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field.key(), field.value().dump());
  return text;
}

}  // namespace

std::vector<RecipeSetting> load_recipes() {
  std::vector<RecipeSetting> settings;
  for (const std::string& name : list_folder(kFolder)) {
    const std::string path = find_data(kFolder, name, {"", kFolder});
    const Json json = parse_json_file(path);
    Object o(Value(json, {path, ""}));
    o.ignore("name");
    o.ignore("source");
    for (const Value& v : o.at("settings").as_list()) settings.push_back(read_setting(v, name));
    o.done();
  }
  return settings;
}

bool concerns(const RecipeSetting& s, const RecipeUse& run) {
  if (s.precision != run.precision || !is_listed(s.models, run.model) || !is_listed(s.hardware, run.hardware)) return false;
  if (!s.runs.empty() && !mentions(run.source, s.runs)) return false;
  if (run.date.empty()) return s.from.empty() && s.to.empty();
  return (s.from.empty() || !is_before(run.date, s.from)) && (s.to.empty() || is_before(run.date, s.to));
}

std::vector<std::string> fill_from_recipes(const std::vector<RecipeSetting>& settings, const RecipeUse& run, Json& training) {
  std::vector<std::string> notes;
  for (const RecipeSetting& s : settings) {
    if (!concerns(s, run) || states_any(training, s.training)) continue;
    training.update(s.training);
    notes.push_back(fmt::format("{}: as in the published recipe (training; recipes/{}.json, {})", words(s), s.file, s.source));
  }
  return notes;
}

std::vector<std::string> recipe_hints(const std::vector<RecipeSetting>& settings, const RecipeUse& run, const Json& training) {
  std::vector<std::string> notes;
  for (const RecipeSetting& s : settings)
    if (concerns(s, run) && !states_any(training, s.training))
      notes.push_back(fmt::format("the published recipe of {} in {} sets {}, which is not stated and not used (training; "
                                  "recipes/{}.json)", run.model, run.precision, words(s), s.file));
  return notes;
}

}  // namespace shardfit::io
