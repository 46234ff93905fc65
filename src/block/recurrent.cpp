// SPDX-License-Identifier: Apache-2.0
// Computes:   what the recurrent mixers have in common.
// Formula:    backward of a chunked scan executes 2.5 times the forward FLOP; context parallelism exchanges N*width*e.
// Source:     Megatron-LM core/ssm/{mamba_mixer,mamba_context_parallel}.py, core/ssm/gated_delta_net.
// Valid when: tp*cp divides the heads.
// Ignores:    the exchange's head copies where groups are fewer than ranks.
// Checked by: tests/block/gated_delta_net_test.cpp, tests/block/mamba2_test.cpp.
#include "block/recurrent.hpp"

#include "block/linear.hpp"

namespace shardfit::block {
namespace {
/// Of forward: two gradients of every product, and the chunks' states and products, half of the forward, made again (counted in
/// mamba_ssm ops/triton/ssd_combined.py and flash-linear-attention ops/gated_delta_rule/chunk.py).
constexpr double kBackwardFlops = 2.5;
}  // namespace

void add_scan(Op& op, double flops, const Shapes& s) {
  Kernel kernel;
  kernel.name = op.name;
  kernel.kind = KernelKind::scan;
  kernel.math = s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
  kernel.flops = flops;
  op.forward.kernels.push_back(kernel);
  kernel.pass = Pass::dgrad;
  kernel.flops *= kBackwardFlops;
  op.backward.kernels.push_back(kernel);
}

void add_sequence_exchange(Op& op, const char* name, double width, const Shapes& s) {
  if (s.cp == 1) return;
  Traffic t;
  t.name = name;
  t.group = Group::cp;
  t.kind = CollectiveKind::all_to_all;
  t.bytes = double(s.tokens) * width * s.e;
  op.forward.traffic.push_back(t);
  op.backward.traffic.push_back(t);
}

void add_split_weight(Op& op, const char* name, ParamGroup group, std::int64_t elements, const Shapes& s, bool fp32) {
  add_weight(op, name, group, elements, 1, Split::tensor, s).fp32 = fp32;
}

}  // namespace shardfit::block
