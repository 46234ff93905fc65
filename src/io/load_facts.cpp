// SPDX-License-Identifier: Apache-2.0
#include "io/load.hpp"
#include "io/measured_kind.hpp"
#include "io/reader.hpp"

namespace shardfit::io {
namespace {

validation::RunFact read_fact(const Value& value) {
  Object o(value);
  validation::RunFact fact;
  fact.runs = o.at("runs").as_text();
  const Value resumed = o.at("resumed");
  if (!resumed.as_bool()) resumed.refuse("true", "a run of which nothing is stated began without a checkpoint");
  fact.resumed = true;
  const Value source = o.at("source");
  fact.source = source.as_text();
  if (fact.source.empty()) source.refuse("how this is known");
  o.done();
  return fact;
}

}  // namespace

std::vector<validation::RunFact> load_facts(const std::string& path) {
  const Json json = parse_json_file(path);
  require_kind(json, path, MeasuredKind::facts);
  std::vector<validation::RunFact> facts;
  for (const Value& v : Value(json, {path, ""}).as_list()) facts.push_back(read_fact(v));
  return facts;
}

}  // namespace shardfit::io
