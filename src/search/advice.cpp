// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/advice.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shardfit/spec/model_dims.hpp"

namespace shardfit {
namespace {

/// Tries variants of one layout on one job.
class Around {
 public:
  Around(const Estimator& estimator, const Layout& layout) : estimator_(estimator), layout_(layout) {}

  /// The layout after `change(layout)`.
  template <class Change>
  Tried with(Change change) {
    Layout changed = layout_;
    change(changed);
    return try_layout(estimator_, std::move(changed), workspace_);
  }

 private:
  const Estimator& estimator_;
  const Layout& layout_;
  Estimator::Workspace workspace_;
};

void add_micro_batches(const Scenario& scenario, Around& around, std::vector<AdvicePair>& pairs) {
  std::vector<int> sizes = scenario.space.micro_batch_size;
  std::sort(sizes.begin(), sizes.end());
  const auto at = [&](int size) { return around.with([size](Layout& l) { l.micro_batch_size = size; }); };
  for (std::size_t i = 1; i < sizes.size(); ++i)
    pairs.push_back({.advice = Advice::larger_micro_batch, .from = at(sizes[i - 1]), .to = at(sizes[i])});
}

/// Whether `a` is the better way to recompute less: it runs and is faster; if neither runs, it needs less.
bool better(const Tried& a, const Tried& b) {
  if (a.runs() != b.runs()) return a.runs();
  return a.runs() ? a.quick.step_time_s < b.quick.step_time_s : a.quick.peak < b.quick.peak;
}

void add_recompute(const Scenario& scenario, Around& around, std::vector<AdvicePair>& pairs) {
  const auto at = [&](const Recompute& recompute) {
    return around.with([&](Layout& l) {
      l.recompute = recompute;
      l.cuda_graph = {};  // refused beside full recompute, as overlap is; without them the pair differs by recompute alone
      l.overlap.expert_alltoall = l.overlap.delay_wgrad = false;
    });
  };
  std::optional<Tried> least;
  for (const Recompute& recompute : scenario.space.recompute) {
    if (recompute.granularity == RecomputeGranularity::full) continue;
    Tried tried = at(recompute);
    if (!tried.refused && (!least || better(tried, *least))) least = std::move(tried);
  }
  if (!least) return;
  const Recompute full{RecomputeGranularity::full, {}, RecomputeMethod::uniform, 1};
  pairs.push_back({.advice = Advice::selective_recompute, .from = at(full), .to = std::move(*least)});
}

}  // namespace

std::vector<AdvicePair> advice_around(const Scenario& scenario, const Estimator& estimator, const Layout& layout) {
  Around around(estimator, layout);
  std::vector<AdvicePair> pairs;
  add_micro_batches(scenario, around, pairs);
  add_recompute(scenario, around, pairs);
  if (!has_moe(scenario.job.model.text)) return pairs;
  const CudaGraph wide{CudaGraphImpl::transformer_engine,
                       {GraphScope::attn, GraphScope::moe_router, GraphScope::moe_preprocess}};
  pairs.push_back({.advice = Advice::wide_graph_scope,
                   .from = around.with([](Layout& l) { l.cuda_graph = {}; }),
                   .to = around.with([&](Layout& l) { l.cuda_graph = wide; })});
  pairs.push_back({.advice = Advice::hybridep,
                   .from = around.with([](Layout& l) { l.dispatcher = Dispatcher::alltoall; }),
                   .to = around.with([](Layout& l) { l.dispatcher = Dispatcher::hybridep; })});
  pairs.push_back({.advice = Advice::expert_tensor_parallel,
                   .from = around.with([](Layout& l) { l.etp = 1; }),
                   .to = around.with([](Layout& l) { l.etp = 2; }),
                   .costs = true});
  return pairs;
}

}  // namespace shardfit
