// SPDX-License-Identifier: Apache-2.0
// Computes:   what the decoder does to take visual tokens in, after the merger.
// Formula:    the embedding of the whole sequence, of all context-parallel ranks, is cloned, transposed twice, overwritten
//             at visual positions and split again: 4 tensors of [s*b, h] at once. Under tp with sequence parallelism it is
//             all-reduced where a decoder alone reduce-scatters its own part. Each DeepStack level clones the stream and
//             adds to it at visual positions. Where context-parallel ranks run images of their own, tokens and DeepStack
//             features are gathered over cp, and their whole gradient is all-reduced.
// Source:     Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/model.py, utils.py (AllGatherVisionEmbeddings).
// Valid when: the projector is on the first stage with the decoder layers that DeepStack adds to.
// Ignores:    the attention-mask and position work of the host (in the ends' serial part); the gather of the embedding's
//             gradient where the language model is frozen and sequence parallel.
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp.
#include "block/linear_traffic.hpp"
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

/// Whole-sequence tensors moved (counted: clone, transposes)
constexpr double kInsertForward = 8, kInsertBackward = 4;
constexpr double kInsertAlive = 4;                    ///< whole-sequence tensors alive at once
constexpr double kCloneTensors = 2, kAddTensors = 3;  ///< moved by a clone; by an indexed add

constexpr double kLookupBytes = 4;  ///< an element of an embedding, as in embedding.cpp

// Calls and launches beside the lists' (kind: counted in Megatron-Bridge models/qwen_vl): the masks and scatters of the
// insertion; index, sum and write of a DeepStack level.
constexpr double kInsertCalls = 3, kInsertLaunches = 9, kAddCalls = 1, kAddLaunches = 3;

constexpr View kView = View::vision_projector;

/// The embedding's own operation looks up this rank's part of the sequence, and reduces that; here all of it is needed.
void add_whole_embedding(Op& op, const Shapes& s, double whole) {
  const double own = double(s.tokens) * double(s.hidden) * s.e;
  add_memory(op.forward, "whole_embedding", kLookupBytes * (whole - own) / s.e);
  if (s.tp == 1) return;
  if (!s.sequence_parallel) {
    add_traffic(op.forward, "whole_embedding", CollectiveKind::all_reduce, whole - own);
    return;
  }
  add_traffic(op.forward, "whole_embedding", CollectiveKind::reduce_scatter, whole - own);
  add_traffic(op.forward, "whole_embedding", CollectiveKind::all_gather, whole);
}

/// Visual tokens take their places in the embedded sequence.
Op insert_op(const Shapes& s, const VisionLoad& load, double levels) {
  Op op = vision_op("vision_insert", kView);
  const double whole = double(s.sequence) * double(s.micro_batch) * double(s.hidden) * s.e;
  const double visual = load.all_tokens * double(s.hidden) * s.e, features = visual * (1 + levels);
  add_memory(op.forward, "vision_insert", kInsertForward * whole + 2 * visual);
  add_host(op.forward, kInsertCalls, kInsertLaunches);
  op.transients.push_back({"whole_embedding", tensor_bytes(whole, kInsertAlive, 1), Moment::forward, {}});
  add_whole_embedding(op, s, whole);
  if (load.split_over_cp) {
    add_traffic(op.forward, "vision_features", CollectiveKind::all_gather, features, Hides::nothing, Group::cp);
    // Bridge has a gradient flow here whatever is frozen, lest ranks wait for one another forever.
    add_traffic(op.backward, "vision_features", CollectiveKind::all_reduce, features, Hides::nothing, Group::cp);
  }
  if (!runs_backward(s)) return op;
  add_memory(op.backward, "vision_insert", kInsertBackward * whole + 2 * visual, Pass::dgrad);
  add_host(op.backward, kInsertCalls, kInsertLaunches);
  return op;
}

Op deepstack_add_op(const Shapes& s, const VisionLoad& load, double levels) {
  Op op = vision_op("deepstack_add", kView);
  const double stream = double(s.stream_tokens) * double(s.hidden) * s.e;
  const double visual = load.all_tokens * double(s.hidden) * s.e * double(s.stream_tokens) /
                        (double(s.sequence) * double(s.micro_batch));
  add_memory(op.forward, "deepstack_add", levels * (kCloneTensors * stream + kAddTensors * visual));
  add_host(op.forward, levels * kAddCalls, levels * kAddLaunches);
  if (!runs_backward(s)) return op;
  add_memory(op.backward, "deepstack_add", levels * (kCloneTensors * stream + kAddTensors * visual), Pass::dgrad);
  add_host(op.backward, levels * kAddCalls, levels * kAddLaunches);
  return op;
}

}  // namespace

OpList vision_projector(const VisionSpec& v, const Shapes& s, const VisionLoad& load, const TowerBuild& build) {
  const double levels = v.deepstack ? double(v.deepstack->decoder_layer_indexes.size()) : 0;
  OpList ops{merger_op(v, s, load, build)};
  if (levels > 0) ops.push_back(deepstack_add_op(s, load, levels));
  ops.push_back(insert_op(s, load, levels));
  if (load.patches <= 0) clear_work(ops);
  return ops;
}

}  // namespace shardfit::block
