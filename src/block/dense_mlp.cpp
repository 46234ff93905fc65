// SPDX-License-Identifier: Apache-2.0
// Computes:   the dense MLP of a decoder layer, behind a norm that is fused into fc1 (added by decoder_block).
// Formula:    see ffn.cpp; `mlp` recompute drops everything after the norm's input and runs it again.
// Source:     Megatron-LM core/transformer/mlp.py; host work: block/launches.hpp.
// Valid when: tp divides intermediate_size.
// Ignores:    nothing beyond ffn.cpp.
// Checked by: tests/block/dense_mlp_test.cpp.
#include "block/blocks.hpp"
#include "block/ffn.hpp"

namespace shardfit::block {
void append_dense_mlp(const DenseMlpSpec& spec, const Shapes& s, OpList& ops) {
  Ffn ffn;
  ffn.view = View::dense_mlp;
  ffn.group = ParamGroup::dense_mlp;
  ffn.intermediate = spec.intermediate_size;
  ffn.gated = spec.gated;
  ffn.bias = spec.bias;
  ffn.written_gate = writes_out_gate(spec.activation, spec.gated, s);
  ffn.recomputed_by = {RecomputeModule::mlp};
  ffn.scope = GraphScope::mlp;
  append_ffn(ffn, s, ops);
}

}  // namespace shardfit::block
