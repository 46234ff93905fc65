// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "io/load.hpp"
#include "io/measured_kind.hpp"
#include "io/reader.hpp"

namespace shardfit::io {
namespace {

using validation::MeasuredEffect;

MeasuredEffect read_effect(const Value& value) {
  Object o(value);
  MeasuredEffect e;
  e.id = o.at("id").as_text();
  e.a = o.at("a").as_text();
  e.b = o.at("b").as_text();
  e.kind = o.at("kind").as_text();
  e.change = o.get("change", "");
  e.quantity = o.get("quantity", "step_time_per_token");
  const Value measured = o.at("measured");
  if (measured.is_text())
    e.outcome = measured.as_text();
  else
    e.measured = measured.as_number(std::numeric_limits<double>::lowest());
  e.unit = o.get("unit", "");
  e.noise = o.get("noise", 0.0, 0.0);
  e.clean = o.get("clean", false);
  e.relation_only = o.get("relation_only", false);
  e.a_died = o.get("a_died", false);
  e.b_died = o.get("b_died", false);
  e.family = o.get("family", "");
  e.release = o.get("release", "");
  e.note = o.get("note", "");
  e.peak = o.get("peak", "");
  if (const auto v = o.find("also_differs")) e.also_differs = v->as_texts();
  if (const auto v = o.find("one_sided")) e.one_sided = v->as_texts();
  o.ignore("from");
  o.done();
  return e;
}

}  // namespace

std::vector<MeasuredEffect> load_effects(const std::string& path) {
  const Json json = parse_json_file(path);
  require_kind(json, path, MeasuredKind::effects);
  std::vector<MeasuredEffect> effects;
  for (const Value& v : Value(json, {path, ""}).as_list()) effects.push_back(read_effect(v));
  return effects;
}

}  // namespace shardfit::io
