// SPDX-License-Identifier: Apache-2.0
// Is the traffic ledger what ranks really send? Every collective of every group of every micro-batch is played on small
// grids, message by message: sizes from Megatron-Core's tensors, written down here anew; members from the rank grid; rings,
// exchanges and sends hop by hop over NVLink domains of 8. What is sent is what is received, and the ledger's rows of a stage
// are the mean over its ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/report/views.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;

namespace {

constexpr int kDomain = 8;
constexpr double kBf16 = 2, kFp32 = 4;

/// Group, collective, phase: what a row of the ledger is.
using Kind = std::tuple<std::string, std::string, std::string>;
struct Sent { double nvlink = 0, network = 0; };

/// Bytes of every rank by kind.
class Wire {
 public:
  explicit Wire(int ranks) : sent_(std::size_t(ranks)), received_(std::size_t(ranks)) {}
  void send(const Kind& kind, int from, int to, double bytes) {
    if (from == to || bytes <= 0) return;
    Sent& s = sent_[std::size_t(from)][kind];
    (from / kDomain == to / kDomain ? s.nvlink : s.network) += bytes;
    received_[std::size_t(to)] += bytes;
  }
  std::map<Kind, Sent> mean(const std::vector<int>& ranks) const {
    std::map<Kind, Sent> mean;
    for (const int r : ranks)
      for (const auto& [kind, s] : sent_[std::size_t(r)]) {
        mean[kind].nvlink += s.nvlink / double(ranks.size());
        mean[kind].network += s.network / double(ranks.size());
      }
    return mean;
  }
  double all_sent() const {
    double sum = 0;
    for (const auto& of_rank : sent_)
      for (const auto& [kind, s] : of_rank) sum += s.nvlink + s.network;
    return sum;
  }
  double all_received() const { return std::accumulate(received_.begin(), received_.end(), 0.0); }

 private:
  std::vector<std::map<Kind, Sent>> sent_;
  std::vector<double> received_;
};

/// A group's members and what may run over them.
struct Players {
  Wire& wire;
  std::vector<int> ranks;

  int size() const { return int(ranks.size()); }
  int per_domain() const {
    return int(std::count_if(ranks.begin(), ranks.end(), [&](int r) { return r / kDomain == ranks.front() / kDomain; }));
  }
  /// NCCL's rings, one a member of a domain, each leaving the domain by another NIC: `bytes` of a tensor, n-1 steps a pass.
  void ring(const Kind& kind, double bytes, int passes) const {
    const int n = size(), m = per_domain();
    for (int which = 0; which < m; ++which)
      for (int at = 0; at < n; ++at) {
        const auto rank_at = [&](int p) { return ranks[std::size_t(p % n / m * m + (p + which) % m)]; };
        wire.send(kind, rank_at(at), rank_at((at + 1) % n), passes * (n - 1) * bytes / m / n);
      }
  }
  void gather(const Kind& kind, double bytes) const { ring(kind, bytes, 1); }
  void reduce(const Kind& kind, double bytes) const { ring(kind, bytes, 2); }
  /// Each rank brings `bytes` and sends every other its part.
  void exchange(const Kind& kind, double bytes) const {
    for (const int a : ranks)
      for (const int b : ranks) wire.send(kind, a, b, bytes / size());
  }
  /// Each rank hands `bytes` to the next, `steps` times.
  void pass_on(const Kind& kind, double bytes, int steps) const {
    for (int i = 0; i < size(); ++i) wire.send(kind, ranks[std::size_t(i)], ranks[std::size_t((i + 1) % size())], steps * bytes);
  }
  /// Tokens to experts, once a rank and once a domain: every choice of two experts is as likely.
  void dispatch_once(const Kind& kind, double tokens, double width, int experts) const {
    const int local = experts / size();
    const double choices = experts * (experts - 1) / 2.0;
    for (int me = 0; me < size(); ++me)
      for (int a = 0; a < experts; ++a)
        for (int b = a + 1; b < experts; ++b) send_once(kind, me, {a / local, b / local}, tokens * width / choices);
  }

 private:
  void send_once(const Kind& kind, int me, std::vector<int> targets, double bytes) const {
    const int m = per_domain();
    if (targets[0] == targets[1]) targets.pop_back();
    std::vector<int> entered;
    for (const int target : targets) {
      const int entry = target / m == me / m ? me : target / m * m + me % m;   // the GPU on the sender's rail
      if (std::find(entered.begin(), entered.end(), entry) == entered.end()) {
        wire.send(kind, ranks[std::size_t(me)], ranks[std::size_t(entry)], bytes);
        entered.push_back(entry);
      }
      wire.send(kind, ranks[std::size_t(entry)], ranks[std::size_t(target)], bytes);
    }
  }
};

/// Sizes of the two models played: Llama 3 8B (dense) and Mixtral 8x7B (8 experts, top 2).
struct Model {
  const char* name;
  double layers, h, heads, kv_heads, d, f, vocab;
  int experts;
};
constexpr Model kDense{"Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256, 0};
constexpr Model kMoe{"Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, 8};

class Replay {
 public:
  Replay(const Model& model, const Scenario& scenario)
      : m_(model), job_(scenario.job), l_(scenario.base), grid_(grid_sizes(l_, job_.gpus, job_.training.global_batch_size)),
        shapes_(group_shapes(l_, grid_)), wire_(job_.gpus) {
    n_ = double(job_.training.sequence_length) * l_.micro_batch_size / l_.cp;
    sp_ = l_.sequence_parallel;
    for (int stage = 0; stage < l_.pp; ++stage) {
      play_layers(stage);
      play_edges(stage);
      play_pipeline(stage);
      play_step(stage);
    }
  }
  const Wire& wire() const { return wire_; }
  std::vector<int> ranks_of(int stage) const {
    std::vector<int> ranks;
    for (int r = 0; r < job_.gpus; ++r)
      if (dense_coordinates(l_, grid_, r).pp == stage) ranks.push_back(r);
    return ranks;
  }

 private:
  template <class F>
  void on_groups(int stage, GroupShape shape, F play) {
    if (shape.size == 1) return;
    std::map<std::vector<int>, bool> done;
    for (const int r : ranks_of(stage))
      if (done.emplace(group_members(shape, r), true).second) play(Players{wire_, group_members(shape, r)});
  }
  void gather(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.gather({group, "all_gather", phase}, times * bytes); });
  }
  void scatter(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.gather({group, "reduce_scatter", phase}, times * bytes); });
  }
  void reduce(int stage, GroupShape shape, const char* group, const char* phase, double bytes, double times = 1) {
    on_groups(stage, shape, [&](const Players& p) { p.reduce({group, "all_reduce", phase}, times * bytes); });
  }

  double layers() const { return m_.layers / l_.pp; }
  double calls() const { return layers() * grid_.microbatches; }
  double stream() const { return n_ * m_.h * kBf16; }

  void column_backward(int stage, double times) {
    if (sp_) {
      gather(stage, shapes_.tp, "tp", "backward", stream(), times);
      scatter(stage, shapes_.tp, "tp", "backward", stream(), times);
    } else {
      reduce(stage, shapes_.tp, "tp", "backward", stream(), times);
    }
  }
  void tp_forward(int stage, const char* phase, double blocks, double times) {
    if (sp_) {
      gather(stage, shapes_.tp, "tp", phase, stream(), blocks * times);
      scatter(stage, shapes_.tp, "tp", phase, stream(), blocks * times);
    } else {
      reduce(stage, shapes_.tp, "tp", phase, stream(), blocks * times);
    }
  }

  void cp_ring(int stage, GroupShape shape, const char* group, const char* phase, double tensors, double times) {
    const double kv = n_ * 2 * m_.kv_heads * m_.d / l_.tp * kBf16;
    on_groups(stage, shape, [&](const Players& p) {
      p.pass_on({group, "send_recv", phase}, tensors * times * kv, p.size() - 1);
    });
  }
  void cp_exchange(int stage, GroupShape shape, const char* group, const char* phase, double times) {
    const double heads = 2 * m_.heads + 2 * m_.kv_heads;   // q and the result, k and v
    on_groups(stage, shape, [&](const Players& p) {
      p.exchange({group, "all_to_all", phase}, times * n_ * heads * m_.d / l_.tp * kBf16);
    });
  }
  void context(int stage, const char* phase, bool backward, double times) {
    const double kv = n_ * l_.cp * 2 * m_.kv_heads * m_.d / l_.tp * kBf16;
    const int ring = hierarchical_cp_ring(l_.cp), inner = l_.cp / ring;
    switch (l_.cp_comm_type) {
      case CpCommType::a2a: return cp_exchange(stage, shapes_.cp, "cp", phase, times);
      case CpCommType::a2a_p2p:
        cp_exchange(stage, {inner, l_.tp}, "cp_a2a", phase, times);
        return cp_ring(stage, {ring, l_.tp * inner}, "cp_p2p", phase, backward ? 2 : 1, times);
      case CpCommType::all_gather:
        gather(stage, shapes_.cp, "cp", phase, kv, times);
        if (backward) scatter(stage, shapes_.cp, "cp", phase, kv, times);
        return;
      default: return cp_ring(stage, shapes_.cp, "cp", phase, backward ? 2 : 1, times);
    }
  }

  /// One way of the tokens; `kind` is the collective's name.
  void experts(int stage, const char* collective, const char* phase, double times) {
    const double tokens = sp_ ? n_ / l_.tp : n_, width = m_.h * kBf16;
    const bool to_experts = collective == std::string("dispatch");
    if (l_.dispatcher == Dispatcher::allgather) {
      const double all = tokens * width * shapes_.tp_ep.size;
      return to_experts ? gather(stage, shapes_.tp_ep, "tp_ep", phase, all, times)
                        : scatter(stage, shapes_.tp_ep, "tp_ep", phase, all, times);
    }
    if (l_.dispatcher == Dispatcher::alltoall) {
      on_groups(stage, shapes_.ep, [&](const Players& p) {
        p.exchange({"ep", collective, phase}, times * 2 * tokens * width);
      });
      const double rows = 2 * tokens * shapes_.tp_ep.size / m_.experts * (m_.experts / l_.ep) * width;
      return to_experts ? gather(stage, shapes_.etp, "etp", phase, rows, times)
                        : scatter(stage, shapes_.etp, "etp", phase, rows, times);
    }
    // HybridEP sends a token's probability of every expert along with it, and brings their gradients back.
    const bool forwards = phase != std::string("backward");
    const double probabilities = l_.dispatcher == Dispatcher::hybridep && to_experts == forwards ? m_.experts * kFp32 : 0;
    on_groups(stage, shapes_.tp_ep, [&](const Players& p) {
      p.dispatch_once({"tp_ep", collective, phase}, times * tokens, width + probabilities, m_.experts);
    });
  }
  void routing_map(int stage, const char* phase, double times) {
    const double tokens = sp_ ? n_ / l_.tp : n_;
    if (l_.dispatcher == Dispatcher::hybridep)
      gather(stage, shapes_.tp_ep, "tp_ep", phase, tokens * shapes_.tp_ep.size * m_.experts, times);
  }
  void expert_forward(int stage, const char* phase, double times) {
    routing_map(stage, phase, times);
    experts(stage, "dispatch", phase, times);
    experts(stage, "combine", phase, times);
  }

  void layer_forward(int stage, const char* phase, double times) {
    tp_forward(stage, phase, m_.experts ? 1 : 2, times);
    if (l_.cp > 1) context(stage, phase, false, times);
    if (m_.experts && shapes_.tp_ep.size > 1) expert_forward(stage, phase, times);
  }
  void play_layers(int stage) {
    layer_forward(stage, "forward", calls());
    const double blocks = m_.experts ? 1 : 2;
    column_backward(stage, blocks * calls());
    if (sp_) gather(stage, shapes_.tp, "tp", "backward", stream(), blocks * calls());   // of the row linear's output gradient
    if (l_.cp > 1) context(stage, "backward", true, calls());
    if (m_.experts && shapes_.tp_ep.size > 1)
      for (const char* collective : {"dispatch", "combine"}) experts(stage, collective, "backward", calls());
    const Recompute& r = l_.recompute;
    if (r.granularity == RecomputeGranularity::full) {
      const double again = r.method == RecomputeMethod::block ? r.num_layers * l_.vpp : layers();
      layer_forward(stage, "recompute", again * grid_.microbatches);
    }
    if (r.modules.contains(RecomputeModule::moe) && m_.experts) expert_forward(stage, "recompute", calls());
    if (r.modules.contains(RecomputeModule::core_attn) && l_.cp > 1) context(stage, "recompute", false, calls());
  }

  void play_edges(int stage) {
    const double m = grid_.microbatches;
    if (stage == 0) {
      if (sp_) scatter(stage, shapes_.tp, "tp", "forward", stream(), m), gather(stage, shapes_.tp, "tp", "backward", stream(), m);
      else reduce(stage, shapes_.tp, "tp", "forward", stream(), m);
    }
    if (stage + 1 < l_.pp) return;
    if (sp_) gather(stage, shapes_.tp, "tp", "forward", stream(), m);
    column_backward(stage, m);
    const double reductions = job_.stack.cross_entropy == CrossEntropy::unfused ? 3 : 2;
    reduce(stage, shapes_.tp, "tp", "forward", n_ * kFp32, reductions * m);
  }

  void play_pipeline(int stage) {
    const double bytes = (sp_ ? n_ / l_.tp : n_) * m_.h * kBf16 * grid_.microbatches;
    for (const int r : ranks_of(stage)) {
      DenseCoordinates next = dense_coordinates(l_, grid_, r), before = next;
      next.pp = (stage + 1) % l_.pp;
      before.pp = (stage + l_.pp - 1) % l_.pp;
      const int forward = l_.vpp - (stage + 1 == l_.pp), backward = l_.vpp - (stage == 0);
      if (l_.pp == 1) continue;
      wire_.send({"pp", "send_recv", "forward"}, r, rank_of(l_, grid_, next), forward * bytes);
      wire_.send({"pp", "send_recv", "backward"}, r, rank_of(l_, grid_, before), backward * bytes);
    }
  }

  /// Padded so that every rank has a multiple of as many rows.
  double vocabulary() const {
    const double step = double(job_.training.vocab_padding_multiple) * l_.tp;
    return std::ceil(m_.vocab / step) * step;
  }

  /// Parameters of a rank: dense grid, expert grid, and those of the dense grid that tp repeats.
  struct Params { double dense, expert, repeated; };
  Params params(int stage) const {
    const bool last = stage + 1 == l_.pp, apart = l_.ep > 1 || l_.etp != l_.tp;
    const double attention = m_.h * (m_.heads + 2 * m_.kv_heads) * m_.d / l_.tp + m_.heads * m_.d * m_.h / l_.tp;
    const double experts = m_.experts ? m_.experts / l_.ep * 3 * m_.h * m_.f / l_.etp : 0;
    const double mlp = m_.experts ? 0 : 3 * m_.h * m_.f / l_.tp;
    const double repeated = layers() * (2 * m_.h + m_.h * m_.experts) + (last ? m_.h : 0);
    double dense = layers() * (attention + mlp) + repeated;
    const double table = vocabulary() / l_.tp * m_.h;
    const bool tied = job_.model.text.tie_word_embeddings;
    if (stage == 0) dense += table;
    if (last && !(tied && l_.pp == 1)) dense += table;
    return {dense + (apart ? 0 : layers() * experts), apart ? layers() * experts : 0, repeated};
  }

  void shard(int stage, GroupShape shape, const char* group, double elements, double gradient) {
    const GroupShape inner = inner_instance(shape, l_.optimizer_instances), outer = across_instances(shape, l_.optimizer_instances);
    const double m = grid_.microbatches;
    if (l_.sharding == Sharding::none) return reduce(stage, shape, group, "step", elements * gradient);
    const bool full = l_.sharding == Sharding::full, every = full || l_.sharding == Sharding::optimizer_grads;
    scatter(stage, inner, group, "step", elements * gradient, every ? m : 1);
    gather(stage, inner, group, "step", elements * kBf16, full ? 2 * m : 1);
    reduce(stage, outer, group, "step", elements * gradient / inner.size);
  }
  void play_step(int stage) {
    const double gradient = bytes_of(job_.training.optimizer.grad_buffer_dtype);
    const Params p = params(stage);
    shard(stage, shapes_.dp_cp, "dp_cp", p.dense, gradient);
    shard(stage, shapes_.edp, "edp", p.expert, gradient);
    if (sp_) reduce(stage, shapes_.tp, "tp", "step", p.repeated * gradient);
    // A stage between the ends plays no part; each end plays its own half of the pair.
    if (job_.model.text.tie_word_embeddings && l_.pp > 1 && (stage == 0 || stage + 1 == l_.pp))
      for (const int r : ranks_of(stage)) {
        DenseCoordinates at = dense_coordinates(l_, grid_, r);
        at.pp = stage == 0 ? l_.pp - 1 : 0;
        wire_.send({"embedding", "all_reduce", "step"}, r, rank_of(l_, grid_, at), vocabulary() / l_.tp * m_.h * gradient);
      }
    if (stage == 0) {
      std::vector<int> all(std::size_t(job_.gpus));
      std::iota(all.begin(), all.end(), 0);
      Players{wire_, all}.reduce({"world", "all_reduce", "step"}, 8);
    }
  }

  Model m_;
  const Job& job_;
  const Layout& l_;
  GridSizes grid_;
  GroupShapes shapes_;
  Wire wire_;
  double n_ = 0;
  bool sp_ = false;
};

std::string kind_text(const Kind& k) { return std::get<0>(k) + " " + std::get<1>(k) + " " + std::get<2>(k); }

void compare(const Model& model, const std::string& layout, bool tied = false) {
  const std::string text = std::string(R"({"model": ")") + model.name + R"(", "hardware": "b200-hgx", "gpus": 32,
    "training": {"precision": "bf16", "sequence_length": 2048, "global_batch_size": 64, "routing": "balanced",
                 "optimizer": {"kind": "adam", "grad_buffer_dtype": "fp32", "main_params_dtype": "fp32",
                               "main_grads_dtype": "fp32", "exp_avg_dtype": "fp32", "exp_avg_sq_dtype": "fp32"}},
    "stack": "megatron-lm-2026-08", "layout": {)" + layout + "}}";
  Scenario scenario = io::parse_scenario(text, "traffic.json");
  scenario.job.model.text.tie_word_embeddings = tied;
  scenario.base = layout_at(scenario, 0);
  CAPTURE(layout);
  const auto violation = first_violation(scenario.job, scenario.base);
  REQUIRE_MESSAGE(!violation, violation_text(*violation));
  const Estimate e = Estimator(scenario.job).evaluate(scenario.base);
  const Replay replay(model, scenario);
  CHECK(replay.wire().all_sent() == doctest::Approx(replay.wire().all_received()));
  for (int stage = 0; stage < scenario.base.pp; ++stage) {
    CAPTURE(stage);
    std::map<Kind, Sent> ledger;
    for (const TrafficRow& row : e.traffic) {
      if (row.stage != stage || row.group == "host") continue;
      Sent& s = ledger[{std::string(row.group), std::string(row.collective), std::string(row.phase)}];
      s.nvlink += row.nvlink_bytes_per_step;
      s.network += row.network_bytes_per_step;
    }
    const std::map<Kind, Sent> played = replay.wire().mean(replay.ranks_of(stage));
    for (const auto& [kind, s] : played) {
      CAPTURE(kind_text(kind));
      CHECK(ledger.count(kind) == 1);
      CHECK(ledger[kind].nvlink == doctest::Approx(s.nvlink).epsilon(1e-6));
      CHECK(ledger[kind].network == doctest::Approx(s.network).epsilon(1e-6));
    }
    for (const auto& [kind, s] : ledger) {
      CAPTURE(kind_text(kind));
      CHECK(played.count(kind) == 1);
    }
  }
}

}  // namespace

TEST_CASE("tensor, pipeline and data parallelism of a dense model") {
  compare(kDense, R"("tp": 4, "pp": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 4, "pp": 2, "sequence_parallel": false)");
  compare(kDense, R"("tp": 2, "pp": 4, "vpp": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 1, "pp": 8, "vpp": 4)");
  compare(kDense, R"("tp": 8, "sharding": "none", "sequence_parallel": true)");
}

TEST_CASE("every kind of context parallelism, also beyond the NVLink domain") {
  const auto by = [](const char* type) { return std::string(R"("sequence_parallel": true, "cp_comm_type": ")") + type + "\""; };
  for (const char* type : {"p2p", "a2a", "all_gather", "a2a+p2p"}) compare(kDense, R"("tp": 2, "cp": 4, )" + by(type));
  for (const char* type : {"p2p", "all_gather", "a2a+p2p"}) compare(kDense, R"("tp": 4, "cp": 4, "pp": 2, )" + by(type));
}

TEST_CASE("rank order tp-cp-ep-pp-dp") {
  compare(kDense, R"("tp": 2, "pp": 4, "sequence_parallel": true, "use_tp_pp_dp_mapping": true)");
  compare(kDense, R"("tp": 2, "cp": 2, "pp": 2, "sequence_parallel": true, "use_tp_pp_dp_mapping": true)");
  compare(kMoe, R"("tp": 1, "cp": 4, "pp": 2, "ep": 4, "etp": 1, "use_tp_pp_dp_mapping": true, "dispatcher": "alltoall")");
}

TEST_CASE("experts by each dispatcher, in a domain and beyond") {
  for (const char* dispatcher : {"allgather", "alltoall", "deepep", "hybridep"}) {
    const std::string by = std::string(R"("etp": 1, "dispatcher": ")") + dispatcher + "\"";
    compare(kMoe, R"("tp": 1, "ep": 8, )" + by);
    compare(kMoe, R"("tp": 4, "pp": 4, "ep": 8, "sequence_parallel": true, )" + by);
    compare(kMoe, R"("tp": 2, "pp": 2, "ep": 4, "sequence_parallel": true, )" + by);
  }
  compare(kMoe, R"("tp": 2, "ep": 8, "etp": 2, "sequence_parallel": true, "dispatcher": "alltoall")");   // two nodes
}

TEST_CASE("recompute repeats the forward collectives of what it covers") {
  compare(kDense, R"("tp": 4, "pp": 2, "sequence_parallel": true, "recompute": {"granularity": "full", "method": "uniform", "num_layers": 1})");
  compare(kDense, R"("tp": 4, "pp": 2, "vpp": 2, "sequence_parallel": true, "recompute": {"granularity": "full", "method": "block", "num_layers": 3})");
  compare(kDense, R"("tp": 2, "cp": 2, "sequence_parallel": true, "recompute": {"granularity": "selective", "modules": ["core_attn"]})");
  compare(kMoe, R"("tp": 1, "ep": 8, "etp": 1, "dispatcher": "deepep", "recompute": {"granularity": "selective", "modules": ["moe"]})");
}

TEST_CASE("HSDP's two levels, FSDP every micro-batch") {
  compare(kDense, R"("tp": 2, "sharding": "optimizer", "optimizer_instances": 2, "sequence_parallel": true)");
  compare(kDense, R"("tp": 1, "sharding": "full")");
  compare(kDense, R"("tp": 1, "sharding": "optimizer_grads")");
  compare(kMoe, R"("tp": 1, "ep": 8, "etp": 1, "sharding": "full", "dispatcher": "alltoall")");
}

TEST_CASE("a tied embedding is summed over the ends of the pipeline") {
  compare(kDense, R"("tp": 2, "pp": 4, "sequence_parallel": true)", true);
  compare(kDense, R"("tp": 2, "pp": 1, "sequence_parallel": true)", true);
}
