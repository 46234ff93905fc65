// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/compare_view.hpp"

namespace shardfit::report {

/// In the order in which a comparison shows them.
inline constexpr Family kFamilies[] = {Family::fsdp, Family::three_d};

/// What each piece of advice in circulation comes to around the best layouts.
Section advice_section(const Comparison& comparison);

}  // namespace shardfit::report
