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
constexpr const char* kBlocks[] = {"training", "layout", "stack"};

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
  if (const auto gpus = o.find("gpus")) s.gpus = gpus->as_ints(1);
  if (const auto where = o.find("where")) s.where = where->json();
  s.from = o.get("from", "");
  s.to = o.get("to", "");
  s.undated = o.get("undated", false);
  s.blocks = Json::object();
  for (const char* block : kBlocks)
    if (const auto fields = o.find(block)) {
      if (!fields->is_object() || fields->json().empty()) fields->refuse(fmt::format("fields of a {} block", block));
      s.blocks[block] = fields->json();
    }
  if (s.blocks.empty()) value.refuse("fields of a training, layout or stack block");
  s.source = o.at("source").as_text();
  s.file = file;
  o.done();
  return s;
}

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether a run states another value than one of the fields. What it leaves out it may have.
bool states_otherwise(const Json& stated, const Json& fields) {
  if (stated.is_null() || fields.is_null()) return false;
  if (!fields.is_object() || !stated.is_object()) return stated != fields;
  return std::any_of(fields.items().begin(), fields.items().end(), [&](const auto& field) {
    return stated.contains(field.key()) && states_otherwise(stated[field.key()], field.value());
  });
}

/// Whether a run states any field of an entry's blocks. A run may name its stack, which states none.
bool states_any(const Json& run, const Json& blocks) {
  for (const auto& block : blocks.items()) {
    if (!run.is_object() || !run.contains(block.key()) || !run[block.key()].is_object()) continue;
    const Json& stated = run[block.key()];
    for (const auto& field : block.value().items())
      if (stated.contains(field.key()) && !stated[field.key()].is_null()) return true;
  }
  return false;
}

/// "layout.sharding full, gpus 4": every leaf of an object with its path.
void add_leaves(const Json& fields, const std::string& path, std::string& text) {
  for (const auto& field : fields.items()) {
    const std::string key = path.empty() ? field.key() : path + "." + field.key();
    if (field.value().is_object()) {
      add_leaves(field.value(), key, text);
      continue;
    }
    const Json& v = field.value();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, v.is_string() ? v.get<std::string>() : v.dump());
  }
}

/// "training, layout": where an entry's fields are.
std::string places(const RecipeSetting& s) {
  std::string text;
  for (const auto& block : s.blocks.items()) text += (text.empty() ? "" : ", ") + block.key();
  return text;
}

}  // namespace

std::string settings_text(const RecipeSetting& s) {
  std::string text;
  for (const auto& block : s.blocks.items()) add_leaves(block.value(), block.key() == "training" ? "" : block.key(), text);
  return text;
}

std::string where_text(const RecipeSetting& s) {
  std::string text;
  if (s.where.is_object()) add_leaves(s.where, "", text);
  if (!s.runs.empty()) text += fmt::format("{}source {}", text.empty() ? "" : ", ", s.runs);
  return text;
}

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
  if (!s.gpus.empty() && std::find(s.gpus.begin(), s.gpus.end(), run.gpus) == s.gpus.end()) return false;
  if (states_otherwise(run.stated, s.where)) return false;
  if (run.date.empty()) return s.undated || (s.from.empty() && s.to.empty());
  return (s.from.empty() || !is_before(run.date, s.from)) && (s.to.empty() || is_before(run.date, s.to));
}

std::vector<std::string> fill_from_recipes(const std::vector<RecipeSetting>& settings, const RecipeUse& use, Json& run) {
  std::vector<std::string> notes;
  for (const RecipeSetting& s : settings) {
    if (!concerns(s, use) || states_any(run, s.blocks)) continue;
    for (const auto& block : s.blocks.items()) {
      if (!run.contains(block.key())) run[block.key()] = Json::object();
      run[block.key()].update(block.value());
    }
    notes.push_back(
        fmt::format("{}: as in the published recipe ({}; recipes/{}.json, {})", settings_text(s), places(s), s.file, s.source));
  }
  return notes;
}

std::vector<std::string> recipe_hints(const std::vector<RecipeSetting>& settings, const RecipeUse& use, const Json& run) {
  std::vector<std::string> notes;
  for (const RecipeSetting& s : settings)
    if (concerns(s, use) && !states_any(run, s.blocks))
      notes.push_back(
          fmt::format("the published recipe of {} in {} sets {}, which is not stated and not used ({}; "
                      "recipes/{}.json)",
                      use.model, use.precision, settings_text(s), places(s), s.file));
  return notes;
}

}  // namespace shardfit::io
