// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/layout/layout_axis.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::search {

/// Whether two layouts have the same value on an axis.
bool same_on(LayoutAxis axis, const Layout& a, const Layout& b);

/// Whether the values of an axis have an order, so that one can step up and down.
bool is_ordered(LayoutAxis axis);

/// The value of an ordered axis; 0 for others.
double size_on(LayoutAxis axis, const Layout& layout);

/// `layout` with one axis as `other` has it, and with what goes with it: Megatron switches sequence parallelism off without
/// TP, and delays weight gradients under expert overlap only.
Layout with_axis(LayoutAxis axis, const Layout& other, Layout layout);

/// On how many axes two layouts differ.
int axes_changed(const Layout& from, const Layout& to);

}  // namespace shardfit::search
