// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

// What ranks send one another, message by message.

namespace shardfit {

inline constexpr int kDomain = 8;
inline constexpr double kBf16 = 2, kFp32 = 4;

/// Group, collective, phase: what a row of the ledger is.
using Kind = std::tuple<std::string, std::string, std::string>;
struct Sent {
  double nvlink = 0, network = 0;
};

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
    for (int i = 0; i < size(); ++i)
      wire.send(kind, ranks[std::size_t(i)], ranks[std::size_t((i + 1) % size())], steps * bytes);
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
      const int entry = target / m == me / m ? me : target / m * m + me % m;  // the GPU on the sender's rail
      if (std::find(entered.begin(), entered.end(), entry) == entered.end()) {
        wire.send(kind, ranks[std::size_t(me)], ranks[std::size_t(entry)], bytes);
        entered.push_back(entry);
      }
      wire.send(kind, ranks[std::size_t(entry)], ranks[std::size_t(target)], bytes);
    }
  }
};

}  // namespace shardfit
