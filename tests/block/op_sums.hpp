// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "block/op.hpp"

namespace shardfit::block {

/// Sums over a list of operations, written the slow and obvious way.

inline std::int64_t saved_bytes(const OpList& ops) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Saved& t : op.saved) sum += t.bytes.value;
  return sum;
}

/// Bytes kept under one name; -1 if there is no such tensor.
inline std::int64_t saved_bytes(const OpList& ops, std::string_view name) {
  std::int64_t sum = -1;
  for (const Op& op : ops)
    for (const Saved& t : op.saved)
      if (t.name == name) sum = (sum < 0 ? 0 : sum) + t.bytes.value;
  return sum;
}

/// Bytes freed by a selective recompute module.
inline std::int64_t dropped_bytes(const OpList& ops, RecomputeModule module) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Saved& t : op.saved)
      if (t.dropped_by.contains(module)) sum += t.bytes.value;
  return sum;
}

inline std::int64_t elements(const OpList& ops, ParamGroup group) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Weight& w : op.weights)
      if (w.group == group) sum += w.elements();
  return sum;
}

inline std::int64_t elements(const OpList& ops, Split split) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Weight& w : op.weights)
      if (w.split == split) sum += w.elements();
  return sum;
}

/// FLOP of the GEMMs (2mnk) of a pass, one kind of gradient or the forward.
inline double gemm_flops(const OpList& ops, Pass pass) {
  double sum = 0;
  for (const Op& op : ops)
    for (const Work* work : {&op.forward, &op.backward})
      for (const Kernel& k : work->kernels)
        if (k.kind == KernelKind::gemm && k.pass == pass) sum += 2 * k.m * k.n * k.k * k.groups;
  return sum;
}

inline double kernel_flops(const OpList& ops, KernelKind kind, Pass pass) {
  double sum = 0;
  for (const Op& op : ops)
    for (const Work* work : {&op.forward, &op.backward})
      for (const Kernel& k : work->kernels)
        if (k.kind == kind && k.pass == pass) sum += k.flops;
  return sum;
}

inline double moved_bytes(const OpList& ops, KernelKind kind, bool backward) {
  double sum = 0;
  for (const Op& op : ops)
    for (const Kernel& k : (backward ? op.backward : op.forward).kernels)
      if (k.kind == kind) sum += k.bytes;
  return sum;
}

/// Bytes of the collectives of one kind and group, calls counted.
inline double traffic_bytes(const OpList& ops, Group group, CollectiveKind kind, bool backward) {
  double sum = 0;
  for (const Op& op : ops)
    for (const Traffic& t : (backward ? op.backward : op.forward).traffic)
      if (t.group == group && t.kind == kind) sum += t.bytes * t.calls;
  return sum;
}

/// Calls, and all launches: of kernels, collectives and what the lists do not show.
inline HostWork host_work(const OpList& ops, bool backward) {
  HostWork sum;
  for (const Op& op : ops) {
    const Work& work = backward ? op.backward : op.forward;
    sum.calls += work.host.calls;
    sum.kernels += work.host.kernels;
    for (const Kernel& kernel : work.kernels) sum.kernels += kernel.launches;
    for (const Traffic& traffic : work.traffic) sum.kernels += traffic.calls;
  }
  return sum;
}

}  // namespace shardfit::block
