// SPDX-License-Identifier: Apache-2.0
#include "io/read_search.hpp"

#include <algorithm>

#include "io/axes.hpp"
#include "io/read_layout.hpp"

namespace shardfit::io {
namespace {

constexpr std::size_t kMostValues = 4096;  ///< of one axis; beyond it a slip is likelier than a wish

const std::vector<double> kAllOffloads{0, 0.25, 0.5, 0.75, 1};
const std::vector<CpCommType> kAllCpComm{CpCommType::p2p, CpCommType::a2a, CpCommType::all_gather, CpCommType::a2a_p2p};

bool is_all(const Value& v) { return v.is_text() && v.as_text() == "all"; }

void refuse_repeats(const Value& axis, std::size_t values, std::size_t distinct) {
  if (values != distinct) axis.refuse("each value once");
}

std::vector<int> range_of(const Value& axis, int most) {
  Object o(axis);
  const int from = o.at("from").as_int(1, most);
  const int to = o.at("to").as_int(from, most);
  const auto step = o.find_int("step", 1, most);
  o.done();
  std::vector<int> values;
  for (long long v = from; v <= to; v = step ? v + *step : v * 2) {
    values.push_back(int(v));
    if (values.size() > kMostValues) axis.refuse("at most " + std::to_string(kMostValues) + " values");
  }
  return values;
}

/// One value or a list of them, each read by `read`; "all" stands for the values of `all`, also inside a
/// list.
template <class T, class Read>
std::vector<T> read_values(const Value& axis, const std::vector<T>& all, Read read) {
  if (is_all(axis)) return all;
  std::vector<T> values;
  const std::vector<Value> items = axis.is_list() ? axis.as_list() : std::vector<Value>{axis};
  if (items.empty() || items.size() > kMostValues) axis.refuse("a list of 1 to " + std::to_string(kMostValues) + " values");
  for (const Value& v : items) {
    if (is_all(v)) {
      values.insert(values.end(), all.begin(), all.end());
      continue;
    }
    const T value = read(v);
    if (std::find(values.begin(), values.end(), value) != values.end()) v.refuse("each value once");
    values.push_back(value);
  }
  return values;
}

/// Layout fields behind axes that are not one field of the same name.
const std::set<std::string>& split_fields() {
  static const std::set<std::string> fields{"pipeline_layout",
                                            "first_stage_layers",
                                            "last_stage_layers",
                                            "account_for_embedding",
                                            "account_for_loss",
                                            "hybrid_pattern",
                                            "split"};
  return fields;
}

SearchSpace fixed_space(const Layout& l) {
  SearchSpace s;
  s.tp = {l.tp};
  s.cp = {l.cp};
  s.pp = {l.pp};
  s.vpp = {l.vpp};
  s.ep = {l.ep};
  s.etp = {l.etp};
  s.micro_batch_size = {l.micro_batch_size};
  s.recompute = {l.recompute};
  s.sharding = {l.sharding};
  s.optimizer_instances = {l.optimizer_instances};
  s.split = {l.split};
  s.dispatcher = {l.dispatcher};
  s.cuda_graph = {l.cuda_graph};
  s.expert_alltoall_overlap = {l.overlap.expert_alltoall};
  s.optimizer_offload = {l.offload.optimizer_fraction};
  s.cp_comm_type = {l.cp_comm_type};
  return s;
}

void read_sizes(Object& o, const Job& job, int gpus, SearchSpace& s) {
  const auto axis = [&](const char* key, std::vector<int>& values, int most, auto all) {
    if (const auto v = o.find(key)) values = is_all(*v) ? all() : read_sizes_of(*v, most);
  };
  axis("tp", s.tp, gpus, [&] { return all_tp(job); });
  axis("cp", s.cp, gpus, [&] { return all_cp(job); });
  axis("pp", s.pp, gpus, [&] { return all_pp(job); });
  axis("vpp", s.vpp, 1000, [&] { return all_vpp(job, s.pp); });
  axis("ep", s.ep, gpus, [&] { return all_ep(job); });
  axis("etp", s.etp, gpus, [&] { return all_etp(job); });
  axis("micro_batch_size", s.micro_batch_size, 1 << 20, [&] { return all_micro_batch_sizes(job); });
  axis("optimizer_instances", s.optimizer_instances, gpus, [&] { return all_optimizer_instances(job); });
}

void read_choices(Object& o, const Job& job, SearchSpace& s) {
  if (const auto v = o.find("recompute")) s.recompute = read_values(*v, all_recompute(job), read_recompute);
  if (const auto v = o.find("sharding"))
    s.sharding = read_values(*v, all_sharding(job), [&](const Value& x) { return read_sharding(x, job.stack.framework); });
  if (const auto v = o.find("split")) s.split = read_values(*v, all_splits(job, s.pp), read_split);
  if (const auto v = o.find("dispatcher")) s.dispatcher = read_values(*v, all_dispatchers(job), read_dispatcher);
  if (const auto v = o.find("cuda_graph"))
    s.cuda_graph = read_values(*v, all_cuda_graphs(job), [&](const Value& x) { return read_cuda_graph(x, job.model); });
  if (const auto v = o.find("expert_alltoall_overlap"))
    s.expert_alltoall_overlap = read_values(*v, all_expert_overlap(job), [](const Value& x) { return x.as_bool(); });
  if (const auto v = o.find("optimizer_offload"))
    s.optimizer_offload = read_values(*v, kAllOffloads, [](const Value& x) { return x.as_number(0, 1); });
  if (const auto v = o.find("cp_comm_type"))
    s.cp_comm_type = read_values(*v, kAllCpComm, [](const Value& x) { return x.as_enum<CpCommType>(); });
}

}  // namespace

std::vector<int> read_sizes_of(const Value& axis, int most) {
  if (axis.is_object()) return range_of(axis, most);
  if (!axis.is_list()) return {axis.as_int(1, most)};
  std::vector<int> values = axis.as_ints(1, most);
  if (values.empty() || values.size() > kMostValues) axis.refuse("a list of 1 to " + std::to_string(kMostValues) + " values");
  refuse_repeats(axis, values.size(), std::set<int>(values.begin(), values.end()).size());
  return values;
}

std::set<std::string> searched_fields(const std::optional<Value>& search) {
  std::set<std::string> fields;
  if (!search) return fields;
  for (const std::string& key : Object(*search).keys()) {
    if (key == "split")
      fields.insert(split_fields().begin(), split_fields().end());
    else if (key != "expert_alltoall_overlap" && key != "optimizer_offload")
      fields.insert(key);
  }
  return fields;
}

SearchSpace read_search(const std::optional<Value>& search, const Job& job, const Layout& base, int largest) {
  SearchSpace s = fixed_space(base);
  if (!search) return s;
  Object o(*search);
  read_sizes(o, job, largest, s);
  read_choices(o, job, s);
  o.done();
  return s;
}

}  // namespace shardfit::io
