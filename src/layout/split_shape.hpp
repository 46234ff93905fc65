// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/layout/job_facts.hpp"

namespace shardfit::layout {

/// What a pipeline layout string or a hybrid pattern comes to, in counts; zeros for the other kinds of split.
struct SplitShape {
  bool readable = true;           ///< the text has only known symbols, brackets match
  int chunks = 0;                 ///< parts between bars
  int layers = 0, mtp = 0;        ///< decoder layers, MTP layers
  int embeddings = 0, heads = 0;  ///< layout string: E and L
  bool embedding_first = true, head_last = true, mtp_after_layers = true;
  int mtp_chunks = 0;          ///< parts that hold an m
  int mtp_chunk = 0;           ///< the last of them
  int first_chunk_layers = 0;  ///< of chunk 0, for every kind of split; 0 if it cannot be split
  bool kinds_mixed = false;    ///< hybrid: plain attention beside MLA or sparse attention
  bool mtp_alike = true;       ///< hybrid: all patterns after '/' are equal
  int first_mismatch = -1;     ///< hybrid: first layer whose symbol is not the model's
};

SplitShape split_shape(const JobFacts& job, const Layout& layout);

/// Middle layers and middle ranks of a first/last split: what is left when the stated stages are taken off.
struct MiddleStages {
  int layers = 0, ranks = 0;
};
MiddleStages middle_stages(int layers, const Layout& layout);

/// Whether '|' stands in the decoder part of a hybrid pattern.
bool has_bars(std::string_view pattern);

}  // namespace shardfit::layout
