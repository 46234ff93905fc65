// SPDX-License-Identifier: Apache-2.0
//
// Computes    the time of a block's forward, backward and selective rerun on one micro-batch.
// Formula     sums over operations of kernel and collective times; gaps = launches * gap (0.4 of it in a graph);
//             host = calls * ms a call + launches * us a launch; a replayed graph scope costs 3 calls, a full-iteration graph none;
//             sync = the calls from a read of row counts to the next launch.
//             A combined 1F1B pair runs a forward F beside another micro-batch's backward B: the gradient of combine (B)
//             behind attention (F), dispatch (F) and its gradient (B) behind the experts of both, combine (F) behind
//             attention (B). Each hides up to the length of the compute beside it.
// Source      terms and constants: step-time study of published runs (hardware/step-time.json names it); pairs:
//             Megatron-LM core/models/common/model_chunk_schedule_plan.py and core/pipeline_parallel/combined_1f1b.py.
// Valid when  operations of a block run one after the other on one stream.
// Ignores     what delayed weight gradients hide beyond expert overlap.
// Checked by  tests/estimate/block_time_test.cpp, tests/measured.

#include "estimate/block_time.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

/// A graphed module's call, its function, the replay itself. Counted in Transformer Engine pytorch/graph.py.
constexpr double kReplayCalls = 3;
/// From a read of row counts to the next launch: the copy's end seen, counts made a list, permutation and its function called.
/// Counted in Megatron-LM core/transformer/moe/token_dispatcher.py.
constexpr double kCallsAfterSync = 4;

/// How the layout's graphs cover an operation.
enum class Launch { eager, scope_replay, whole_graph };

Launch launch_of(const TimedOp& op, const CudaGraph& graph) {
  switch (graph.impl) {
    case CudaGraphImpl::full_iteration: return Launch::whole_graph;
    case CudaGraphImpl::local: if (graph.scopes.empty()) return Launch::scope_replay; [[fallthrough]];
    case CudaGraphImpl::transformer_engine:
      return op.scope && graph.scopes.contains(*op.scope) ? Launch::scope_replay : Launch::eager;
    default: return Launch::eager;
  }
}

/// Adds one pass of one operation. `replayed` collects the scopes whose replay the pass pays for.
void add_pass(PassTime& t, const compute::WorkTime& work, const comm::TrafficTime& traffic, Launch launch,
              const Layout& layout, const TimingRates& rates) {
  t.gemm += work.gemm;
  t.experts += work.experts;
  t.attention += work.attention;
  t.scan += work.scan;
  t.memory += work.memory;
  t.quantize += work.quantize;
  // HybridEP and DeepEP fuse most of the permutation into their own kernels, on the communication stream.
  const bool fused_permute = layout.dispatcher == Dispatcher::deepep || layout.dispatcher == Dispatcher::hybridep;
  if (fused_permute) t.ep += work.permute * rates.permute_left;
  else t.memory += work.permute;
  t.gaps += work.kernels * rates.device->kernel_gap * (launch == Launch::eager ? 1 : rates.device->graphed_gap_share);
  t.tp += traffic.tp * (layout.overlap.tp_comm ? rates.tp_overlap_exposed : 1);
  t.ep += traffic.ep;
  t.cp += traffic.cp;
  t.hidden += traffic.tp_hidden + traffic.cp_hidden;
  t.sync += work.syncs * (kCallsAfterSync * rates.device->host_call + rates.device->host_launch);
  t.serial += work.serial;
  if (launch == Launch::eager)
    t.host += work.calls * rates.device->host_call + work.kernels * rates.device->host_launch;
}

/// Host cost of the distinct scopes replayed once each in a pass. Without scopes (local graphs) each operation kind is a
/// replay of the whole layer: one.
double replay_host(EnumSet<GraphScope> scopes, bool whole_layer, const TimingRates& rates) {
  const int replays = whole_layer ? 1 : scopes.size();
  return replays * kReplayCalls * rates.device->host_call;
}

/// Whether an operation runs in the expert half of a layer (beside the dispatch) or in the attention half.
bool in_expert_half(block::View view) {
  return view == block::View::experts || view == block::View::shared_expert || view == block::View::latent;
}

/// The compute of a pass that expert traffic can hide behind, and the traffic, by where the schedule puts them.
struct Halves {
  double attention = 0, experts = 0, dispatch = 0, combine = 0;

  void add(block::View view, const PassTime& before, const PassTime& after) {
    (view == block::View::combine ? combine : dispatch) += after.ep - before.ep;
    (in_expert_half(view) ? experts : attention) += after.device(0, 0) - after.ep - (before.device(0, 0) - before.ep);
  }
};

/// SMs that an expert library takes from the compute beside it, over the share behind the fitted slow-down: 32 of 148, as
/// nearly every run with expert overlap has it. NCCL's exchange counts as one of those.
double sms_taken_share(const TimingRates& rates) {
  constexpr double kFittedShare = 32.0 / 148;
  const int taken = comm::sms_taken(rates.network);
  return taken > 0 ? taken / rates.device->sms / kFittedShare : 1;
}

/// Sets what a pair of a block's forward and backward can hide of their expert traffic.
void set_hideable(BlockTime& t, const Halves& f, const Halves& b, double slowing) {
  const double dispatches = f.dispatch + b.dispatch;
  const double behind_experts = std::min(dispatches, f.experts + b.experts);
  const double share = dispatches > 0 ? behind_experts / dispatches : 0;
  t.forward.ep_hideable = share * f.dispatch + std::min(f.combine, b.attention);
  t.backward.ep_hideable = share * b.dispatch + std::min(b.combine, f.attention);
  t.forward.ep_slowing = slowing * t.forward.ep_hideable;
  t.backward.ep_slowing = slowing * t.backward.ep_hideable;
}

/// What a checkpointed module costs beside its second forward: random states of CPU, device and tracker saved, then saved,
/// set and restored around the second run, which has a graph and a backward call of its own. Counted in Megatron-LM
/// core/tensor_parallel/random.py, CheckpointFunction and CheckpointWithoutOutput.
constexpr double kCheckpointForwardCalls = 5, kCheckpointBackwardCalls = 12;

struct PassSum {
  PassTime time;
  Halves halves;
  EnumSet<GraphScope> replayed;
  bool whole_layer = false;

  void add(const TimedOp& op, bool forward, const Layout& layout, const TimingRates& rates) {
    const Launch launch = launch_of(op, layout.cuda_graph);
    if (launch == Launch::scope_replay) {
      if (op.scope) replayed.insert(*op.scope);
      whole_layer |= layout.cuda_graph.scopes.empty();
    }
    const PassTime before = time;
    if (forward) add_pass(time, op.forward, op.forward_traffic, launch, layout, rates);
    else add_pass(time, op.backward, op.backward_traffic, launch, layout, rates);
    halves.add(op.view, before, time);
  }
  PassTime finish(const TimingRates& rates) const {
    PassTime t = time;
    t.host += replay_host(replayed, whole_layer, rates);
    return t;
  }
};

}  // namespace

PassTime& PassTime::operator+=(const PassTime& o) {
  add(o, 1);
  return *this;
}

void PassTime::add(const PassTime& o, double n) {
  gemm += o.gemm * n; experts += o.experts * n; attention += o.attention * n; scan += o.scan * n; memory += o.memory * n;
  quantize += o.quantize * n; gaps += o.gaps * n; tp += o.tp * n; ep += o.ep * n; cp += o.cp * n;
  ep_hideable += o.ep_hideable * n; ep_slowing += o.ep_slowing * n; hidden += o.hidden * n; sync += o.sync * n; host += o.host * n; serial += o.serial * n;
}

TimedOps time_ops(const block::OpList& ops, const TimingRates& rates) {
  TimedOps timed;
  timed.reserve(ops.size());
  for (const block::Op& op : ops)
    timed.push_back({op.recomputed_by, op.scope, op.view,
                     compute::time_of(op.forward, *rates.device),
                     compute::time_of(op.backward, *rates.device),
                     comm::time_of(op.forward, *rates.links, rates.network),
                     comm::time_of(op.backward, *rates.links, rates.network)});
  return timed;
}

BlockTime block_time(const TimedOps& ops, const Layout& layout, const TimingRates& rates) {
  PassSum forward, backward, rerun;
  EnumSet<RecomputeModule> checkpoints;   // modules whose checkpoint runs eagerly
  const bool selective = layout.recompute.granularity == RecomputeGranularity::selective;
  for (const TimedOp& op : ops) {
    forward.add(op, true, layout, rates);
    backward.add(op, false, layout, rates);
    if (!selective || !op.recomputed_by.intersects(layout.recompute.modules)) continue;
    rerun.add(op, true, layout, rates);
    if (launch_of(op, layout.cuda_graph) == Launch::eager) checkpoints = checkpoints | (op.recomputed_by & layout.recompute.modules);
  }
  BlockTime t{forward.finish(rates), backward.finish(rates), rerun.finish(rates)};
  t.forward.host += checkpoints.size() * kCheckpointForwardCalls * rates.device->host_call;
  t.rerun.host += checkpoints.size() * kCheckpointBackwardCalls * rates.device->host_call;
  set_hideable(t, forward.halves, backward.halves, sms_taken_share(rates));
  return t;
}

}  // namespace shardfit::estimate
