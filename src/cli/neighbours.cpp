// SPDX-License-Identifier: Apache-2.0
#include "cli/neighbours.hpp"

#include <algorithm>
#include <charconv>

#include "cli/layout_flags.hpp"

namespace shardfit::cli {
namespace {

/// Values worth trying that a scenario with a fixed layout does not list.
std::vector<std::string> usual_words(const std::string& field) {
  if (field == "recompute")
    return {"none",          "selective:core_attn", "selective:moe_act", "selective:layernorm", "selective:moe_act+layernorm",
            "selective:mlp", "selective:moe",       "full:uniform:1"};
  if (field == "dispatcher") return {"alltoall", "deepep", "hybridep"};
  if (field == "sharding") return {"optimizer", "full"};
  if (field == "expert-overlap" || field == "overlap-param-gather" || field == "overlap-grad-reduce") return {"true", "false"};
  if (field == "optimizer-offload") return {"0.0", "0.5", "1.0"};
  return {};
}

/// Words that differ from the layout's own.
std::vector<std::string> words_to_try(const LayoutFlag& flag, const SearchSpace& space, const std::string& now) {
  std::vector<std::string> words;
  if (flag.values) words = flag.values(space);
  int n = 0;
  const bool size = std::from_chars(now.data(), now.data() + now.size(), n).ptr == now.data() + now.size();
  if (size) {
    words.push_back(std::to_string(2 * n));
    if (n % 2 == 0) words.push_back(std::to_string(n / 2));
  }
  for (std::string& word : usual_words(field_name(flag))) words.push_back(std::move(word));
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::erase(words, now);
  return words;
}

/// Calls f(change) for every layout that differs from the estimate's in one field and passes the rules.
template <class F>
void for_each_neighbour(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate, F f) {
  Estimator::Workspace workspace;
  for (const LayoutFlag& flag : layout_flags()) {
    if (!flag.current) continue;
    const std::string from = flag.current(estimate.layout);
    for (const std::string& to : words_to_try(flag, scenario.space, from)) {
      const Layout layout = with_field(flag, to, scenario, estimate.layout);
      if (first_violation(scenario.job, layout)) continue;
      f(Change{field_name(flag), from, to, layout, estimator.quick(layout, workspace)});
    }
  }
}

}  // namespace

std::optional<Change> best_single_change(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate) {
  std::optional<Change> best;
  const double now = estimate.verdict.fits ? estimate.tokens_per_s_per_gpu * (1 + kNoDifference) : 0;
  for_each_neighbour(scenario, estimator, estimate, [&](Change change) {
    if (!change.quick.fits) return;
    if (change.quick.tokens_per_s_per_gpu > (best ? best->quick.tokens_per_s_per_gpu : now)) best = std::move(change);
  });
  return best;
}

std::vector<Change> largest_memory_savings(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate,
                                           std::size_t count) {
  std::vector<Change> savings;  // the best value of each field
  const double enough = double(estimate.verdict.need.value) * (1 - kNoDifference);
  for_each_neighbour(scenario, estimator, estimate, [&](Change change) {
    if (double(change.quick.peak.value) > enough) return;
    const bool same_field = !savings.empty() && savings.back().field == change.field;
    if (!same_field)
      savings.push_back(std::move(change));
    else if (change.quick.peak < savings.back().quick.peak)
      savings.back() = std::move(change);
  });
  std::stable_sort(savings.begin(), savings.end(),
                   [](const Change& a, const Change& b) { return a.quick.peak < b.quick.peak; });
  if (savings.size() > count) savings.resize(count);
  return savings;
}

}  // namespace shardfit::cli
