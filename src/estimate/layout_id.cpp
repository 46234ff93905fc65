// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdio>
#include <set>

#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"
#include "shardfit/base/pieces.hpp"
#include "shardfit/estimate/estimator.hpp"

// An id is a row of "key value" words joined by '-': "tp2-cp1-pp4-vpp1-ep8-etp1-mbs1-sp1-optimizer-rc:none-...". The seven
// axes, sharding, recompute, dispatcher and graph always stand; the rest only where it is not at its default. No value
// holds a '-' (layout strings are percent-encoded), so that an id splits without a grammar.

namespace shardfit {
namespace {

std::string encode(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    if (std::isalnum(c) || c == '*' || c == '_') {
      out += char(c);
    } else {
      char buffer[4];
      std::snprintf(buffer, sizeof buffer, "%%%02X", c);
      out += buffer;
    }
  }
  return out;
}

std::string number(double v) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string text(buffer, end);
  return text.find('-') == std::string::npos ? text : std::to_string(v);  // no exponents with a sign in an id
}

std::string recompute_word(const Recompute& r) {
  std::string text = "rc:" + std::string(name_of(r.granularity));
  if (r.granularity == RecomputeGranularity::selective) text += ":" + join_names(r.modules);
  if (r.granularity == RecomputeGranularity::full)
    text += ":" + std::string(name_of(r.method)) + ":" + std::to_string(r.num_layers);
  return text;
}

std::string split_word(const PipelineSplit& s) {
  switch (s.kind) {
    case SplitKind::first_last:
      return "split:" + std::to_string(s.first_stage_layers) + ":" + std::to_string(s.last_stage_layers);
    case SplitKind::accounting:
      return "accounting:" + std::to_string(s.account_for_embedding) + ":" + std::to_string(s.account_for_loss);
    case SplitKind::layout_string: return "layout:" + encode(s.text);
    case SplitKind::hybrid_pattern: return "pattern:" + encode(s.text);
    default: return "";
  }
}

std::string overlap_word(const Overlap& o) {
  std::string on;
  for (const auto& [flag, word] : {std::pair{o.grad_reduce, "gr"},
                                   {o.param_gather, "pg"},
                                   {o.tp_comm, "tp"},
                                   {o.expert_alltoall, "ep"},
                                   {o.delay_wgrad, "dw"}})
    if (flag) on += (on.empty() ? "" : "+") + std::string(word);
  return "ov:" + (on.empty() ? "none" : on);
}

/// Reads one id; every failure is the same kind of InputError.
class IdReader {
 public:
  explicit IdReader(const std::string& id) : id_(id) {}

  [[noreturn]] void fail(const std::string& word, const std::string& expected) const {
    throw InputError("", "layout id", "'" + word + "' in '" + id_ + "'", expected,
                     "ids come from the layout_id column of a sweep's CSV");
  }
  int integer(std::string_view text, const std::string& word) const {
    int v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc{} || end != text.data() + text.size() || v < 0) fail(word, "a whole number");
    return v;
  }
  double real(std::string_view text, const std::string& word) const {
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc{} || end != text.data() + text.size()) fail(word, "a number");
    return v;
  }
  template <class E>
  E name(std::string_view text, const std::string& word) const {
    if (const auto e = parse_name<E>(text)) return *e;
    std::string expected = "one of";
    for (std::string_view n : kNames<E>) expected += " " + std::string(n);
    fail(word, expected);
  }
  template <class E>
  EnumSet<E> names(std::string_view text, const std::string& word) const {
    EnumSet<E> set;
    if (text == "none") return set;
    for (const std::string& n : pieces(text, '+')) set.insert(name<E>(n, word));
    return set;
  }
  std::string decode(std::string_view text, const std::string& word) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      int v = 0;
      if (i + 2 >= text.size() || std::from_chars(&text[i + 1], &text[i + 3], v, 16).ptr != &text[i + 3])
        fail(word, "percent-encoded text");
      out += char(v);
      i += 2;
    }
    return out;
  }

 private:
  const std::string& id_;
};

void read_overlap(const IdReader& read, const std::vector<std::string>& p, const std::string& word, Layout& layout) {
  layout.overlap = {.grad_reduce = false, .param_gather = false};
  if (p.size() != 2) read.fail(word, "ov:gr+pg+tp+ep+dw");
  if (p[1] == "none") return;
  for (const std::string& on : pieces(p[1], '+')) {
    if (on == "gr")
      layout.overlap.grad_reduce = true;
    else if (on == "pg")
      layout.overlap.param_gather = true;
    else if (on == "tp")
      layout.overlap.tp_comm = true;
    else if (on == "ep")
      layout.overlap.expert_alltoall = true;
    else if (on == "dw")
      layout.overlap.delay_wgrad = true;
    else
      read.fail(word, "ov: with gr, pg, tp, ep, dw");
  }
}

void read_recompute(const IdReader& read, const std::vector<std::string>& p, const std::string& word, Layout& layout) {
  layout.recompute.granularity = p.size() > 1 ? read.name<RecomputeGranularity>(p[1], word) : RecomputeGranularity::none;
  if (layout.recompute.granularity == RecomputeGranularity::selective && p.size() == 3)
    layout.recompute.modules = read.names<RecomputeModule>(p[2], word);
  else if (layout.recompute.granularity == RecomputeGranularity::full && p.size() == 4) {
    layout.recompute.method = read.name<RecomputeMethod>(p[2], word);
    layout.recompute.num_layers = read.integer(p[3], word);
  } else if (layout.recompute.granularity != RecomputeGranularity::none || p.size() != 2) {
    read.fail(word, "rc:none, rc:selective:MODULES or rc:full:METHOD:LAYERS");
  }
}

void read_word(const IdReader& read, const std::string& word, Layout& layout) {
  const std::vector<std::string> p = pieces(word, ':');
  const std::string& key = p[0];
  const auto part = [&](std::size_t i) -> const std::string& {
    if (i >= p.size()) read.fail(word, "a value after '" + key + ":'");
    return p[i];
  };
  if (key == "rc") return read_recompute(read, p, word, layout);
  if (key == "ov") return read_overlap(read, p, word, layout);
  if (key == "disp") return void(layout.dispatcher = read.name<Dispatcher>(part(1), word));
  if (key == "cpc") return void(layout.cp_comm_type = read.name<CpCommType>(part(1), word));
  if (key == "sh") return void(layout.sharding = read.name<Sharding>(part(1), word));
  if (key == "graph") {
    layout.cuda_graph.impl = read.name<CudaGraphImpl>(part(1), word);
    if (p.size() > 2) layout.cuda_graph.scopes = read.names<GraphScope>(p[2], word);
    return;
  }
  if (key == "split") {
    layout.split.kind = SplitKind::first_last;
    layout.split.first_stage_layers = read.integer(part(1), word);
    layout.split.last_stage_layers = read.integer(part(2), word);
    return;
  }
  if (key == "accounting") {
    layout.split.kind = SplitKind::accounting;
    layout.split.account_for_embedding = read.integer(part(1), word) != 0;
    layout.split.account_for_loss = read.integer(part(2), word) != 0;
    return;
  }
  if (key == "layout" || key == "pattern") {
    layout.split.kind = key == "layout" ? SplitKind::layout_string : SplitKind::hybrid_pattern;
    layout.split.text = read.decode(part(1), word);
    return;
  }
  if (key == "off") {
    layout.offload.optimizer_fraction = read.real(part(1), word);
    layout.offload.activation_modules = read.names<OffloadModule>(part(2), word);
    layout.offload.activation_layers = read.integer(part(3), word);
    return;
  }
  const auto axis = [&](std::string_view name, int& value) {
    if (key.rfind(name, 0) != 0 || key.size() == name.size() || !std::isdigit((unsigned char)key[name.size()])) return false;
    value = read.integer(std::string_view(key).substr(name.size()), word);
    if (value < 1 && name != "sms") read.fail(word, "at least 1");
    return true;
  };
  if (axis("tp", layout.tp) || axis("cp", layout.cp) || axis("pp", layout.pp) || axis("vpp", layout.vpp) ||
      axis("etp", layout.etp) || axis("ep", layout.ep) || axis("mbs", layout.micro_batch_size) ||
      axis("hsdp", layout.optimizer_instances) || axis("group", layout.microbatch_group_size) ||
      axis("sms", layout.dispatcher_sms))
    return;
  if (key == "sp") return void(layout.sequence_parallel = true);
  if (key == "db") return void(layout.fsdp_double_buffer = true);
  if (key == "ppdp") return void(layout.use_tp_pp_dp_mapping = true);
  read.fail(word, "a word such as tp2, pp4, ep8, mbs1, sp, sh:optimizer, rc:none, disp:alltoall, graph:none");
}

/// What a word sets: its key without the number; the four ways to split a pipeline are one.
std::string field_of(const std::string& word) {
  std::string key = pieces(word, ':')[0];
  while (!key.empty() && std::isdigit((unsigned char)key.back())) key.pop_back();
  return key == "accounting" || key == "layout" || key == "pattern" ? "split" : key;
}

/// Refuses values behind those that a word has, which nothing would read.
void refuse_surplus(const IdReader& read, const std::string& word) {
  const std::vector<std::string> p = pieces(word, ':');
  std::size_t most = 1;
  for (const auto& [key, values] : {std::pair{"disp", 1},
                                    {"cpc", 1},
                                    {"sh", 1},
                                    {"layout", 1},
                                    {"pattern", 1},
                                    {"ov", 9},
                                    {"graph", 2},
                                    {"split", 2},
                                    {"accounting", 2},
                                    {"rc", 3},
                                    {"off", 3}})
    if (p[0] == key) most = 1 + std::size_t(values);
  if (p.size() > most) read.fail(word, "no \":" + p[most] + "\"");
}

}  // namespace

std::string layout_id(const Layout& l) {
  const Layout defaults;
  std::string id = "tp" + std::to_string(l.tp) + "-cp" + std::to_string(l.cp) + "-pp" + std::to_string(l.pp) + "-vpp" +
                   std::to_string(l.vpp) + "-ep" + std::to_string(l.ep) + "-etp" + std::to_string(l.etp) + "-mbs" +
                   std::to_string(l.micro_batch_size);
  const auto add = [&id](const std::string& word) {
    if (!word.empty()) id += "-" + word;
  };
  if (l.sequence_parallel) add("sp");
  add("sh:" + std::string(name_of(l.sharding)));
  if (l.optimizer_instances != 1) add("hsdp" + std::to_string(l.optimizer_instances));
  if (l.fsdp_double_buffer) add("db");
  if (l.use_tp_pp_dp_mapping) add("ppdp");
  add(recompute_word(l.recompute));
  add(split_word(l.split));
  if (l.microbatch_group_size) add("group" + std::to_string(l.microbatch_group_size));
  add("disp:" + std::string(name_of(l.dispatcher)));
  if (l.dispatcher_sms) add("sms" + std::to_string(l.dispatcher_sms));
  if (l.cp_comm_type != defaults.cp_comm_type) add("cpc:" + std::string(name_of(l.cp_comm_type)));
  std::string graph = "graph:" + std::string(name_of(l.cuda_graph.impl));
  if (!l.cuda_graph.scopes.empty()) graph += ":" + join_names(l.cuda_graph.scopes);
  add(graph);
  if (l.overlap != defaults.overlap) add(overlap_word(l.overlap));
  if (l.offload != defaults.offload)
    add("off:" + number(l.offload.optimizer_fraction) + ":" + join_names(l.offload.activation_modules) + ":" +
        std::to_string(l.offload.activation_layers));
  return id;
}

Layout parse_layout_id(const std::string& id) {
  Layout layout;
  const IdReader read(id);
  std::set<std::string> seen;
  for (const std::string& word : pieces(id, '-')) {
    read_word(read, word, layout);
    refuse_surplus(read, word);
    if (!seen.insert(field_of(word)).second) read.fail(word, "each field of the layout once");
  }
  return layout;
}

}  // namespace shardfit
