// SPDX-License-Identifier: Apache-2.0
#include "io/read_goals.hpp"

#include "shardfit/estimate/estimator.hpp"

namespace shardfit::io {
namespace {

std::vector<Metric> read_metrics(const Value& value) {
  std::vector<Metric> metrics;
  for (const Value& v : value.as_list()) metrics.push_back(v.as_enum<Metric>());
  if (const char* expected = fault_of_front(metrics)) value.refuse(expected);
  return metrics;
}

/// One number for all hardware, or an object of hardware names.
PerHardware read_per_hardware(const Value& value) {
  if (!value.is_object()) return {{"", value.as_number(0)}};
  Object o(value);
  PerHardware figures;
  for (const std::string& name : o.keys()) figures[name] = o.at(name).as_number(0);
  return figures;
}

Limits read_limits(const Value& value) {
  Object o(value);
  Limits l;
  l.memory_headroom = o.get("memory_headroom_pct", 0.0, 0.0, 99.0) / 100;
  l.host_memory_gib = o.get("host_memory_gib", 0.0, 0.0);
  l.gpus = o.get("gpus", 0, 1);
  for (const SizeLimit& limit : kSizeLimits) l.*limit.most = o.get(limit.key, 0, 1);
  o.done();
  return l;
}

Layout read_base(const Value& value) {
  try {
    return parse_layout_id(value.as_text());
  } catch (const InputError&) {
    value.refuse("a layout id", "`check` and a sweep's CSV print it");
  }
}

}  // namespace

Goals read_goals(const std::optional<Value>& value) {
  Goals goals;
  if (!value) return goals;
  Object o(*value);
  goals.objective = o.get("objective", goals.objective);
  if (const auto v = o.find("pareto")) goals.pareto = read_metrics(*v);
  if (const auto v = o.find("train_tokens")) goals.train_tokens = v->as_number(1);
  if (const auto v = o.find("usd_per_gpu_hour")) goals.usd_per_gpu_hour = read_per_hardware(*v);
  if (const auto v = o.find("watts_per_gpu")) goals.watts_per_gpu = read_per_hardware(*v);
  if (const auto v = o.find("base")) goals.base = read_base(*v);
  if (const auto v = o.find("limits")) goals.limits = read_limits(*v);
  o.done();
  return goals;
}

}  // namespace shardfit::io
