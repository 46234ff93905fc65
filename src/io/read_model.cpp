// SPDX-License-Identifier: Apache-2.0
#include "io/read_model.hpp"

#include "io/data_dir.hpp"
#include "io/family_code.hpp"
#include "io/hf_config.hpp"
#include "io/load.hpp"

namespace shardfit::io {
namespace {

std::vector<PublishedParams> read_exact(Object& object) {
  std::vector<PublishedParams> exact;
  const auto list = object.find("published_params");
  if (!list) return exact;
  for (const Value& v : list->as_list()) {
    Object row(v);
    PublishedParams params;
    params.of = row.at("of").as_text();
    params.source = row.get("source", "");
    row.ignore("note");
    const Value value = row.at("value");
    if (row.get("exact", false)) {
      params.value = value.as_int64(1);
      exact.push_back(params);
    }
    row.done();
  }
  return exact;
}

/// The file whose `aliases` hold the name; empty if none does.
std::string file_of_alias(const std::string& name) {
  for (const std::string& known : list_models()) {
    const std::string path = data_dir() + "/models/" + known + ".json";
    const Json json = parse_json_file(path);
    if (!json.is_object() || !json.contains("aliases") || !json["aliases"].is_array()) continue;
    for (const Json& alias : json["aliases"])
      if (alias.is_string() && alias.get<std::string>() == name) return path;
  }
  return {};
}

/// A model in the form of models/README.md.
ModelSpec read_own_form(const Value& value) {
  Object object(value);
  ModelSpec model;
  object.get("schema_version", 1, 1, 1);
  model.name = object.at("name").as_text();
  model.family = object.get("family", "");
  for (const char* key : {"hf_model_id", "aliases", "modality", "checkpoint", "computed_params", "sources", "notes"})
    object.ignore(key);
  model.text = read_text(object.at("text"));
  if (const auto vision = object.find("vision")) model.vision = read_vision(*vision);
  model.exact_params = read_exact(object);
  object.done();
  return model;
}

}  // namespace

ModelSpec read_model(const Value& value, std::vector<std::string>* notes) {
  if (is_hf_config(value)) {
    const Json converted = model_of_hf(value, notes);
    return read_model(Value(converted, value.place()));
  }
  Json filled = value.json();
  add_family_code(filled, notes);
  return read_own_form(Value(filled, value.place()));
}

ModelSpec find_model(const std::string& name, const Place& asked, std::vector<std::string>* notes) {
  std::string path;
  try {
    path = find_data("models", name, asked);
  } catch (const InputError&) {
    path = file_of_alias(name);
    if (path.empty()) throw;
  }
  const Json json = parse_json_file(path);
  ModelSpec model = read_model(Value(json, {path, ""}), notes);
  model.source_file = path;
  return model;
}

ModelSpec load_model(const std::string& name_or_path) { return find_model(name_or_path, {"", "model"}); }

}  // namespace shardfit::io
