// SPDX-License-Identifier: Apache-2.0
#include "io/read_hardware.hpp"

#include "io/data_dir.hpp"
#include "io/load.hpp"

namespace shardfit::io {
namespace {

/// {"value": 3.35, "kind": "datasheet", "source": "..."}: no figure without its provenance.
Figure read_figure(const Value& value, double least = 0) {
  if (!value.is_object())
    value.refuse(R"({"value": ..., "kind": "datasheet" or "assumed", ..., "source": ...})", "no figure without its provenance");
  Object o(value);
  Figure f;
  f.value = o.at("value").as_number(least);
  f.kind = o.at("kind").as_enum<FigureKind>();
  f.source = o.at("source").as_text();
  if (f.source.empty()) o.at("source").refuse("where the figure is from");
  o.done();
  return f;
}

/// Figures that divide something.
Figure read_positive(const Value& value) {
  Figure f = read_figure(value);
  if (f.value <= 0) Object(value).at("value").refuse("a number above 0");
  return f;
}

/// Relative errors: above 0, at most 1.
Figure read_share(const Value& value) {
  Figure f = read_positive(value);
  if (f.value > 1) Object(value).at("value").refuse("a number above 0, at most 1");
  return f;
}

template <class E>
E key_as_enum(const Value& map, const std::string& key) {
  if (const auto e = parse_name<E>(key)) return *e;
  const auto words = all_names<E>();
  const auto near = nearest_name(key, words);
  throw InputError(map.place().file, map.place().down(key).pointer, "unknown key \"" + key + "\"", "a kind of arithmetic",
                   near ? "did you mean \"" + *near + "\"?" : "");
}

EnumArray<Math, Figure> read_peaks(const Value& value) {
  EnumArray<Math, Figure> peaks{};
  Object o(value);
  for (const std::string& key : o.keys()) peaks[key_as_enum<Math>(value, key)] = read_figure(o.at(key));
  return peaks;
}

/// How well a curve met its points, and the end of its block.
template <class Curve>
void read_fit(Object& o, Curve& c) {
  c.error_median = o.at("error_median").as_number(0);
  c.error_p90 = o.at("error_p90").as_number(0);
  o.ignore("kind");
  o.ignore("source");
  o.done();
}

GemmCurve read_gemm_curve(const Value& value) {
  Object o(value);
  GemmCurve c;
  c.rate_tflops = o.at("rate_tflops").as_number(1);
  c.launch_us = o.at("launch_us").as_number(0);
  c.k_half = o.at("k_half").as_number(0);
  c.wave = o.at("wave").as_number(0);
  read_fit(o, c);
  return c;
}

AttentionCurve read_attention_curve(const Value& value) {
  Object o(value);
  AttentionCurve c;
  c.head_dim = o.at("head_dim").as_int(0);
  c.rate_tflops = o.at("rate_tflops").as_number(1);
  c.seq_half = o.at("seq_half").as_number(0);
  read_fit(o, c);
  return c;
}

GpuSpec read_gpu(const Value& value) {
  Object o(value);
  GpuSpec g;
  g.name = o.at("name").as_text();
  g.generation = o.at("generation").as_enum<GpuGeneration>();
  g.peak_tflops = read_peaks(o.at("peak_tflops"));
  g.sm_count = read_positive(o.at("sm_count"));
  g.memory_nominal_gb = read_positive(o.at("memory_nominal_gb"));
  g.memory_usable_gib = read_positive(o.at("memory_usable_gib"));
  g.hbm_tb_per_s = read_positive(o.at("hbm_tb_per_s"));
  g.power_w = read_positive(o.at("power_w"));
  const Value gemm = o.at("gemm");
  Object curves(gemm);
  for (const std::string& key : curves.keys()) g.gemm[key_as_enum<Math>(gemm, key)] = read_gemm_curve(curves.at(key));
  for (const Value& v : o.at("attention").as_list()) g.attention.push_back(read_attention_curve(v));
  g.fp8_attention_speedup = read_positive(o.at("fp8_attention_speedup"));
  g.sustained_factor = read_positive(o.at("sustained_factor"));
  g.curves_source = o.at("curves_source").as_text();
  o.done();
  return g;
}

NodeSpec read_node(const Value& value) {
  Object o(value);
  NodeSpec n;
  n.gpus = o.at("gpus").as_int(1);
  n.cpu = o.at("cpu").as_enum<HostCpu>();
  n.host_link_gb_per_s = read_positive(o.at("host_link_gb_per_s"));
  n.host_memory_gib = read_positive(o.at("host_memory_gib"));
  if (const auto speed = o.find("host_speed")) n.host_speed = read_positive(*speed);
  o.done();
  return n;
}

/// {"links": [9, 9], "failed": 0, "kind": ..., "source": ...}
NvswitchPlanes read_planes(const Value& value) {
  Object o(value);
  NvswitchPlanes p;
  for (const Value& links : o.at("links").as_list()) p.links.push_back(links.as_int(1));
  if (p.links.empty()) o.at("links").refuse("the NVLinks of a GPU to each plane, as in [9, 9]");
  if (const auto failed = o.find("failed")) p.failed = failed->as_int(0, int(p.links.size()) - 1);
  p.kind = o.at("kind").as_enum<FigureKind>();
  p.source = o.at("source").as_text();
  o.done();
  return p;
}

CoreTier read_core(const Value& value) {
  Object o(value);
  CoreTier c;
  c.units_per_pod = o.at("units_per_pod").as_int(1);
  c.switches = o.at("switches").as_int(1);
  c.oversubscription = read_positive(o.at("oversubscription"));
  o.done();
  return c;
}

FabricSpec read_fabric(const Value& value) {
  Object o(value);
  FabricSpec f;
  f.nvlink_domain_gpus = o.at("nvlink_domain_gpus").as_int(1);
  f.placed_per_domain = o.at("placed_per_domain").as_int(1, f.nvlink_domain_gpus);
  f.nvlink_gb_per_s = read_positive(o.at("nvlink_gb_per_s"));
  if (const auto v = o.find("nvswitch_planes")) f.nvswitch = read_planes(*v);
  f.nvlink_latency_us = read_figure(o.at("nvlink_latency_us"));
  f.nic_gb_per_s = read_positive(o.at("nic_gb_per_s"));
  f.nic_alltoall_gb_per_s = read_positive(o.at("nic_alltoall_gb_per_s"));
  if (const auto v = o.find("nic_dispatch_gb_per_s")) f.nic_dispatch_gb_per_s = read_positive(*v);
  f.nic_latency_us = read_figure(o.at("nic_latency_us"));
  f.leaf_ports_down = o.at("leaf_ports_down").as_int(1);
  f.spines = o.at("spines").as_int(1);
  f.nodes_per_leaf_group = o.at("nodes_per_leaf_group").as_int(1);
  if (const auto v = o.find("spare_nodes_per_leaf_group"))
    f.spare_nodes_per_leaf_group = v->as_int(0, f.nodes_per_leaf_group - 1);
  f.oversubscription = read_positive(o.at("oversubscription"));
  if (const auto v = o.find("core")) f.core = read_core(*v);
  f.sharp = o.get("sharp", false);
  o.ignore("source");
  o.done();
  return f;
}

PriceSpec read_price(const Value& value) {
  Object o(value);
  PriceSpec p{read_figure(o.at("usd_per_gpu_hour")), read_figure(o.at("all_in_power_w"))};
  o.done();
  return p;
}

}  // namespace

HardwareSpec read_hardware(const Value& value) {
  Object o(value);
  HardwareSpec h;
  h.name = o.at("name").as_text();
  h.gpu = read_gpu(o.at("gpu"));
  h.node = read_node(o.at("node"));
  h.fabric = read_fabric(o.at("fabric"));
  h.price = read_price(o.at("price"));
  h.context_gib = read_figure(o.at("context_gib"));
  h.nccl_gib_per_communicator = read_figure(o.at("nccl_gib_per_communicator"));
  h.nvls_gib = read_figure(o.at("nvls_gib"));
  if (const auto band = o.find("step_time_band")) h.step_time_band = read_share(*band);
  o.ignore("notes");
  o.done();
  return h;
}

/// An overlay ("base": "gb200-nvl72" and some figures) laid over the file it names; any other file as it is.
Json with_base(Json json, const Place& place) {
  if (!json.is_object() || !json.contains("base")) return json;
  const std::string name = Object(Value(json, place)).at("base").as_text();
  Json base = parse_json_file(find_data("hardware", name, place.down("base")));
  if (base.contains("base")) throw InputError(place.file, "/base", "an overlay", "a whole hardware file");
  json.erase("base");
  base.merge_patch(json);
  return base;
}

HardwareSpec find_hardware(const std::string& name, const Place& asked) {
  const std::string path = find_data("hardware", name, asked);
  const Json json = with_base(parse_json_file(path), {path, ""});
  HardwareSpec hardware = read_hardware(Value(json, {path, ""}));
  hardware.source_file = path;
  return hardware;
}

TimeCoefficients read_coefficients(const Value& value) {
  Object o(value);
  TimeCoefficients t;
  t.source = o.at("source").as_text();
  t.fit_quality = o.at("fit_quality").as_text();
  Object map(o.at("coefficients"));
  for (std::size_t i = 0; i < kCount<Coefficient>; ++i) {
    const auto c = static_cast<Coefficient>(i);
    Object v(map.at(std::string(name_of(c))));
    FittedValue& f = t.values[c];
    f.value = v.at("value").as_number(0);
    f.standard_error = v.at("standard_error").as_number(0);
    f.low = v.at("low").as_number(0);
    f.high = v.at("high").as_number(f.low);
    f.meaning = v.at("meaning").as_text();
    v.done();
  }
  map.done();
  o.done();
  return t;
}

HardwareSpec load_hardware(const std::string& name_or_path) { return find_hardware(name_or_path, {"", "hardware"}); }

TimeCoefficients load_coefficients() {
  const std::string path = data_dir() + "/hardware/step-time.json";
  const Json json = parse_json_file(path);
  return read_coefficients(Value(json, {path, ""}));
}

}  // namespace shardfit::io
