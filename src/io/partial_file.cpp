// SPDX-License-Identifier: Apache-2.0
#include "io/partial_file.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/reader.hpp"

namespace shardfit::io {
namespace {

using Out = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr const char* kKind = "shardfit partial sweep";
constexpr double kAnyNumber = std::numeric_limits<double>::lowest();
constexpr std::size_t kCandidateFields = 8;

Out candidate_json(const Candidate& c) {
  const Quick& q = c.quick;
  return {c.index, q.step_time_s, q.tokens_per_s_per_gpu, q.peak.value,
          q.fits,  q.peak_stage,  name_of(q.peak_moment), name_of(q.bottleneck)};
}

Out ranked_json(const Ranked& r) { return {r.score, candidate_json(r.candidate)}; }

/// The name that a reason has in a file: rules are numbered anew when one is added.
std::string reason_text(RuleId rule) {
  if (rule == kRefusedByMemory) return "memory";
  if (rule == kRefusedAsAlias) return "alias";
  if (rule == kRefusedByLimit) return "limit";
  return std::string(rules()[std::size_t(rule)].code);
}

std::vector<Value> fields_of(const Value& value, std::size_t count) {
  std::vector<Value> fields = value.as_list();
  if (fields.size() != count) value.refuse("a list of " + std::to_string(count) + " fields");
  return fields;
}

std::uint64_t count_of(const Value& value) { return std::uint64_t(value.as_int64(0)); }

Candidate read_candidate(const Value& value) {
  const std::vector<Value> f = fields_of(value, kCandidateFields);
  Candidate c;
  c.index = count_of(f[0]);
  c.quick.step_time_s = f[1].as_number(0);
  c.quick.tokens_per_s_per_gpu = f[2].as_number(0);
  c.quick.peak = Bytes(f[3].as_int64(0));
  c.quick.fits = f[4].as_bool();
  c.quick.peak_stage = f[5].as_int(0);
  c.quick.peak_moment = f[6].as_enum<MemoryMoment>();
  c.quick.bottleneck = f[7].as_enum<TimeTerm>();
  return c;
}

Ranked read_ranked(const Value& value) {
  const std::vector<Value> f = fields_of(value, 2);
  return {f[0].as_number(kAnyNumber), read_candidate(f[1])};
}

FrontPoint read_point(const Value& value) {
  const std::vector<Value> f = fields_of(value, 2);
  FrontPoint p;
  const std::vector<Value> scores = fields_of(f[0], kMostMetrics);
  for (std::size_t i = 0; i < kMostMetrics; ++i) p.scores[i] = scores[i].as_number(kAnyNumber);
  p.candidate = read_candidate(f[1]);
  return p;
}

RuleId read_reason(const Value& value) {
  const std::string text = value.as_text();
  for (RuleId rule : {kRefusedByMemory, kRefusedAsAlias, kRefusedByLimit})
    if (text == reason_text(rule)) return rule;
  for (std::size_t i = 0; i < rules().size(); ++i)
    if (rules()[i].code == text) return RuleId(i);
  value.refuse("a reason for refusing layouts");
}

Rejected read_rejected(const Value& value) {
  const std::vector<Value> f = fields_of(value, 5);
  Rejected r;
  r.rule = read_reason(f[0]);
  r.count = count_of(f[1]);
  r.example = count_of(f[2]);
  r.violation = {r.rule, f[3].as_int64(std::numeric_limits<std::int64_t>::min()),
                 f[4].as_int64(std::numeric_limits<std::int64_t>::min())};
  return r;
}

void expect(Object& o, const char* field, const std::string& expected, const char* what) {
  const Value value = o.at(field);
  if (value.as_text() != expected) value.refuse("\"" + expected + "\"", what);
}

Shard read_shard(const Value& value) {
  Object o(value);
  Shard shard;
  shard.of = std::uint32_t(o.at("of").as_int(1));
  shard.index = std::uint32_t(o.at("index").as_int(0, int(shard.of) - 1));
  o.done();
  return shard;
}

}  // namespace

std::string partial_text(const PartialKey& key, const PartialSweep& part) {
  Out o = {{"kind", kKind}, {"format", kFormat}, {"version", key.version}, {"scenario", key.scenario}, {"data", key.data}};
  o["shard"] = {{"index", part.shard.index}, {"of", part.shard.of}};
  o["done"] = part.done;
  o["units"] = part.units;
  o["evaluated"] = part.evaluated;
  o["valid"] = part.valid;
  o["fit"] = part.fit;
  Out best = Out::array(), front = Out::array(), more = Out::array(), rejected = Out::array();
  for (const Ranked& r : part.best) best.push_back(ranked_json(r));
  for (const FrontPoint& p : part.front) front.push_back({p.scores, candidate_json(p.candidate)});
  for (const auto& r : part.with_more_memory) more.push_back(r ? ranked_json(*r) : Out());
  for (const Rejected& r : part.rejected)
    rejected.push_back({reason_text(r.rule), r.count, r.example, r.violation.got, r.violation.need});
  o["best"] = std::move(best);
  o["front"] = std::move(front);
  o["with_more_memory"] = std::move(more);
  o["rejected"] = std::move(rejected);
  return o.dump() + "\n";
}

PartialSweep parse_partial(const std::string& text, const std::string& file, const PartialKey& expected) {
  const Json json = parse_json(text, file);
  Object o(Value(json, {file, ""}));
  if (!o.has("kind"))
    throw InputError(file, "", "a file of another kind", "a partial sweep that --resume has written", "it is left as it is");
  expect(o, "kind", kKind, "this is no partial sweep");
  o.at("format").as_int(kFormat, kFormat);
  expect(o, "version", expected.version, "another version made it: start afresh, or use that one");
  expect(o, "data", expected.data,
         "models, hardware, stacks, workloads or coefficients differ from those that it was made with");
  expect(o, "scenario", expected.scenario, "it was made from another scenario, or with other flags for search, job or goals");
  PartialSweep part;
  part.shard = read_shard(o.at("shard"));
  part.units = count_of(o.at("units"));
  part.done = count_of(o.at("done"));
  if (part.done > part.units) o.at("done").refuse("at most units = " + std::to_string(part.units));
  part.evaluated = count_of(o.at("evaluated"));
  part.valid = count_of(o.at("valid"));
  part.fit = count_of(o.at("fit"));
  for (const Value& v : o.at("best").as_list()) part.best.push_back(read_ranked(v));
  for (const Value& v : o.at("front").as_list()) part.front.push_back(read_point(v));
  const std::vector<Value> more = fields_of(o.at("with_more_memory"), kMoreMemory.size());
  for (std::size_t i = 0; i < more.size(); ++i)
    if (!more[i].is_null()) part.with_more_memory[i] = read_ranked(more[i]);
  for (const Value& v : o.at("rejected").as_list()) part.rejected.push_back(read_rejected(v));
  o.done();
  return part;
}

PartialSweep load_partial(const std::string& path, const PartialKey& expected) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(path, ignored))
    throw InputError(path, "", "no readable file", "a partial sweep that --resume has written");
  std::ostringstream text;
  text << in.rdbuf();
  return parse_partial(text.str(), path, expected);
}

}  // namespace shardfit::io
