// SPDX-License-Identifier: Apache-2.0
// A DeepSeek-V3 MoE layer and questions about its operations.
#pragma once

#include <doctest/doctest.h>

#include <string_view>

#include "block/blocks.hpp"
#include "block/moe_parts.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

namespace shardfit::block {

inline MoeMlpSpec deepseek_v3() {
  MoeMlpSpec spec;
  spec.num_experts = 256;
  spec.num_experts_per_tok = 8;
  spec.intermediate_size = 2048;
  spec.router.correction_bias = true;
  spec.router.n_group = 8;
  spec.router.topk_group = 4;
  spec.shared_expert = SharedExpertSpec{2048, false};
  return spec;
}

inline Shapes on_ep(int ep, int tp = 1) {
  Shapes s = shapes_of(7168, 4096, tp);
  s.ep = ep;
  s.etp = 1;
  return s;
}

inline OpList moe(const MoeMlpSpec& spec, const Shapes& s) {
  OpList ops;
  append_moe(spec, s, ops);
  return ops;
}

inline Op find(const OpList& ops, std::string_view name) {
  for (const Op& op : ops)
    if (op.name == name) return op;
  FAIL("no operation of that name");
  return ops.front();
}

inline double syncs(const OpList& ops) {
  double sum = 0;
  for (const Op& op : ops) sum += op.forward.host.syncs + op.backward.host.syncs;
  return sum;
}

inline std::int64_t routed_bytes(const OpList& ops) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Saved& t : op.saved)
      if (t.routed) sum += t.bytes.value;
  return sum;
}

inline const Kernel& kernel(const Op& op, KernelKind kind, Pass pass) {
  for (const Work* work : {&op.forward, &op.backward})
    for (const Kernel& k : work->kernels)
      if (k.kind == kind && k.pass == pass) return k;
  FAIL("no kernel of that kind");
  return op.forward.kernels.front();
}

}  // namespace shardfit::block
