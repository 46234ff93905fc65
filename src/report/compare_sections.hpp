// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/compare_view.hpp"

namespace shardfit::report {

/// In the order in which a comparison shows them.
inline constexpr Family kFamilies[] = {Family::fsdp, Family::three_d};

/// Whether the two best layouts are closer than the error of their step times can tell apart: families share no error that
/// would cancel, as two layouts of one do.
bool too_close(const Comparison& comparison);
/// The larger of the two errors, one sigma, as a share of the step time.
double ceiling_band(const Comparison& comparison);

/// What each piece of advice in circulation comes to around the best layouts.
Section advice_section(const Comparison& comparison);

}  // namespace shardfit::report
