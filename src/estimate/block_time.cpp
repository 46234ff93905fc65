// SPDX-License-Identifier: Apache-2.0
// Computes:   the time of a block's forward, backward and selective rerun on one micro-batch.
// Formula:    sums over operations of kernel and collective times; gaps = launches * gap (0.4 of it in a graph); host =
//             calls * ms a call + launches * us a launch; a replayed graph scope costs 3 calls, a full-iteration graph
//             none; sync = the calls from a read of row counts to the next launch.
//             A combined 1F1B pair runs a forward F beside another micro-batch's backward B: the gradient of combine (B)
//             behind attention (F), dispatch (F) and its gradient (B) behind the experts of both, combine (F) behind
//             attention (B). Each hides up to the length of the compute beside it.
// Source:     terms and constants: step-time study of published runs (hardware/step-time.json names it); pairs: Megatron-LM
//             core/models/common/model_chunk_schedule_plan.py and core/pipeline_parallel/combined_1f1b.py.
// Valid when: operations of a block run one after the other on one stream.
// Ignores:    what delayed weight gradients hide beyond expert overlap.
// Checked by: tests/estimate/block_time_test.cpp, tests/measured.

#include "estimate/block_time.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

/// A graphed module's call, its function, the replay itself. Counted in Transformer Engine pytorch/graph.py.
constexpr double kReplayCalls = 3;
/// From a read of row counts to the next launch: the copy's end seen, counts made a list, permutation and its function called.
/// Counted in Megatron-LM core/transformer/moe/token_dispatcher.py.
constexpr double kCallsAfterSync = 4;
/// What a checkpointed module costs beside its second forward: random states of CPU, device and tracker saved, then saved,
/// set and restored around the second run, which has a graph and a backward call of its own. Counted in Megatron-LM
/// core/tensor_parallel/random.py, CheckpointFunction and CheckpointWithoutOutput.
constexpr double kCheckpointForwardCalls = 5, kCheckpointBackwardCalls = 12;

/// How the layout's graphs cover operations.
enum class Launch { eager, scope_replay, whole_graph };

Launch launch_in(GraphScope scope, const CudaGraph& graph) {
  switch (graph.impl) {
    case CudaGraphImpl::full_iteration: return Launch::whole_graph;
    case CudaGraphImpl::local:
      if (graph.scopes.empty()) return Launch::scope_replay;
      [[fallthrough]];
    case CudaGraphImpl::transformer_engine: return graph.scopes.contains(scope) ? Launch::scope_replay : Launch::eager;
    default: return Launch::eager;
  }
}

/// Of operations that no scope covers: local graphs without scopes hold the whole layer.
Launch launch_without_scope(const CudaGraph& graph) {
  if (graph.impl == CudaGraphImpl::full_iteration) return Launch::whole_graph;
  return graph.impl == CudaGraphImpl::local && graph.scopes.empty() ? Launch::scope_replay : Launch::eager;
}

/// What a pass waits for of the tensor-parallel traffic before or after its product. User buffers chop both into a piece a
/// rank: the longer of the two, and one piece of the other, which has nothing to run beside. Source: Transformer Engine
/// common/comm_gemm_overlap/comm_gemm_overlap.cpp (split_overlap_ag, split_overlap_rs).
double exposed_tp(const compute::WorkTime& work, double traffic, const Layout& layout) {
  if (!layout.overlap.tp_comm) return traffic;
  const double product = std::max(0.0, work.gemm - work.wgrad);
  return std::max(0.0, traffic - product) + std::min(traffic, product) / layout.tp;
}

/// One pass of one operation, but for its launches.
PassTime pass_of(const compute::WorkTime& work, const comm::TrafficTime& traffic, const Layout& layout,
                 const TimingRates& rates) {
  PassTime t;
  t.gemm = work.gemm;
  t.experts = work.experts;
  t.attention = work.attention;
  t.scan = work.scan;
  t.memory = work.memory;
  t.quantize = work.quantize;
  // HybridEP and DeepEP fuse most of the permutation into their own kernels, on the communication stream.
  const bool fused_permute = layout.dispatcher == Dispatcher::deepep || layout.dispatcher == Dispatcher::hybridep;
  if (fused_permute)
    t.ep += work.permute * rates.permute_left;
  else
    t.memory += work.permute;
  const double behind_gemm = std::min(traffic.tp_hidden, work.gemm);
  t.tp = exposed_tp(work, traffic.tp, layout) + traffic.tp_hidden - behind_gemm;
  // A ring exchanges beside all steps but the last.
  const double behind_attention = std::min(traffic.cp_hidden, work.attention * (layout.cp - 1) / layout.cp);
  t.ep += traffic.ep;
  t.cp = traffic.cp + traffic.cp_hidden - behind_attention;
  t.hidden = behind_gemm + behind_attention;
  t.sync = work.syncs * (kCallsAfterSync * rates.device->host_call + rates.device->host_launch) + work.idle;
  t.serial = work.serial;
  return t;
}

/// Whether an operation runs in the expert half of a layer (beside the dispatch) or in the attention half.
bool in_expert_half(block::View view) {
  return view == block::View::experts || view == block::View::shared_expert || view == block::View::latent;
}

void add_op(PassSum& sum, const TimedOp& op, bool forward, const Layout& layout, const TimingRates& rates,
            EnumSet<RecomputeModule> checkpoints = {}) {
  const compute::WorkTime& work = forward ? op.forward : op.backward;
  const PassTime pass = pass_of(work, forward ? op.forward_traffic : op.backward_traffic, layout, rates);
  sum.time += pass;
  const bool experts = in_expert_half(op.view);
  (op.view == block::View::combine ? sum.halves.combine : sum.halves.dispatch) += pass.ep;
  (experts ? sum.halves.experts : sum.halves.attention) += pass.device(0, 0) - pass.ep;
  Launches& launches = op.scope ? sum.in_scope[*op.scope] : sum.without_scope;
  (experts ? launches.kernels_experts : launches.kernels_attention) += work.kernels;
  launches.looped += work.looped;
  launches.calls += work.calls;
  launches.checkpoints = launches.checkpoints | checkpoints;
  launches.any = true;
}

/// A pass with its gaps and its host time.
struct LaunchedPass {
  PassTime time;
  Halves halves;
  EnumSet<RecomputeModule> checkpoints;  ///< modules whose checkpoint runs eagerly
};

/// The host pays once for each distinct scope that is replayed, and once for a layer that is replayed whole.
LaunchedPass launched(const PassSum& sum, const CudaGraph& graph, const TimingRates& rates) {
  LaunchedPass p{sum.time, sum.halves, {}};
  const compute::Device& device = *rates.device;
  int replays = 0;
  const auto add = [&](const Launches& l, Launch launch) {
    const double gap = device.kernel_gap * (launch == Launch::eager ? 1 : device.graphed_gap_share);
    p.halves.attention += l.kernels_attention * gap;
    p.halves.experts += l.kernels_experts * gap;
    const double kernels = l.kernels_attention + l.kernels_experts;
    p.time.gaps += kernels * gap;
    if (launch == Launch::scope_replay) ++replays;
    if (launch != Launch::eager) return;
    p.time.host += l.calls * device.host_call + (kernels - l.looped) * device.host_launch + l.looped * device.driver_launch;
    p.checkpoints = p.checkpoints | l.checkpoints;
  };
  for (std::size_t s = 0; s < kCount<GraphScope>; ++s)
    if (sum.in_scope[GraphScope(s)].any) add(sum.in_scope[GraphScope(s)], launch_in(GraphScope(s), graph));
  if (sum.without_scope.any) add(sum.without_scope, launch_without_scope(graph));
  const bool whole_layer = graph.impl == CudaGraphImpl::local && graph.scopes.empty();
  if (whole_layer) replays = std::min(replays, 1);
  p.time.host += replays * kReplayCalls * device.host_call;
  return p;
}

/// SMs that an expert library takes from the compute beside it, over the share behind the fitted slow-down: 32 of 148, as
/// nearly every run with expert overlap has it. NCCL's exchange counts as one of those.
double sms_taken_share(const TimingRates& rates) {
  constexpr double kFittedShare = 32.0 / 148;
  const int taken = comm::sms_taken(rates.network);
  return taken > 0 ? taken / rates.device->sms / kFittedShare : 1;
}

/// Sets what a pair of a block's forward and backward can hide of their expert traffic.
void set_hideable(BlockPasses& t, const Halves& f, const Halves& b, double slowing) {
  const double dispatches = f.dispatch + b.dispatch;
  const double behind_experts = std::min(dispatches, f.experts + b.experts);
  const double share = dispatches > 0 ? behind_experts / dispatches : 0;
  t.forward.ep_hideable = share * f.dispatch + std::min(f.combine, b.attention);
  t.backward.ep_hideable = share * b.dispatch + std::min(b.combine, f.attention);
  t.forward.ep_slowing = slowing * t.forward.ep_hideable;
  t.backward.ep_slowing = slowing * t.backward.ep_hideable;
}

}  // namespace

PassTime& PassTime::operator+=(const PassTime& o) {
  add(o, 1);
  return *this;
}

void PassTime::add(const PassTime& o, double n) {
  gemm += o.gemm * n;
  experts += o.experts * n;
  attention += o.attention * n;
  scan += o.scan * n;
  memory += o.memory * n;
  quantize += o.quantize * n;
  gaps += o.gaps * n;
  tp += o.tp * n;
  ep += o.ep * n;
  cp += o.cp * n;
  ep_hideable += o.ep_hideable * n;
  ep_slowing += o.ep_slowing * n;
  hidden += o.hidden * n;
  sync += o.sync * n;
  host += o.host * n;
  serial += o.serial * n;
}

TimedOps time_ops(const block::OpList& ops, const TimingRates& rates) {
  TimedOps timed;
  timed.reserve(ops.size());
  for (const block::Op& op : ops)
    timed.push_back({op.recomputed_by, op.scope, op.view, compute::time_of(op.forward, *rates.device),
                     compute::time_of(op.backward, *rates.device), comm::time_of(op.forward, *rates.links, rates.network),
                     comm::time_of(op.backward, *rates.links, rates.network)});
  return timed;
}

PassSum forward_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates) {
  PassSum sum;
  for (const TimedOp& op : ops) add_op(sum, op, true, layout, rates);
  return sum;
}

PassSum backward_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates) {
  PassSum sum;
  for (const TimedOp& op : ops) add_op(sum, op, false, layout, rates);
  return sum;
}

PassSum rerun_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates) {
  PassSum sum;
  if (layout.recompute.granularity != RecomputeGranularity::selective) return sum;
  for (const TimedOp& op : ops)
    if (const auto modules = op.recomputed_by & layout.recompute.modules; !modules.empty())
      add_op(sum, op, true, layout, rates, modules);
  return sum;
}

BlockPasses block_passes(const PassSum& forward, const PassSum& backward, const CudaGraph& graph, const TimingRates& rates) {
  const LaunchedPass f = launched(forward, graph, rates), b = launched(backward, graph, rates);
  BlockPasses t{f.time, b.time};
  set_hideable(t, f.halves, b.halves, sms_taken_share(rates));
  return t;
}

CheckpointHost checkpoint_host(int checkpoints, const CudaGraph& graph, const TimingRates& rates) {
  if (graph.impl == CudaGraphImpl::full_iteration) return {};
  const double call = checkpoints * rates.device->host_call;
  return {kCheckpointForwardCalls * call, kCheckpointBackwardCalls * call};
}

Rerun rerun_pass(const PassSum& rerun, const CudaGraph& graph, const TimingRates& rates) {
  const LaunchedPass p = launched(rerun, graph, rates);
  const CheckpointHost checkpoints = checkpoint_host(int(p.checkpoints.size()), graph, rates);
  Rerun again{p.time, checkpoints.forward};
  again.pass.host += checkpoints.backward;
  return again;
}

BlockTime block_time(const TimedOps& ops, const Layout& layout, const TimingRates& rates) {
  const BlockPasses passes = block_passes(forward_sum(ops, layout, rates), backward_sum(ops, layout, rates), layout.cuda_graph,
                                          rates);
  const Rerun rerun = rerun_pass(rerun_sum(ops, layout, rates), layout.cuda_graph, rates);
  BlockTime time{passes.forward, passes.backward, rerun.pass};
  time.forward.host += rerun.forward_host;
  return time;
}

}  // namespace shardfit::estimate
