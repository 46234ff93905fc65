// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shardfit/spec/coefficients.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit::io {

/// A hardware file that takes `base` (a name in hardware/, or a path) and replaces some figures, each told by its JSON
/// pointer ("/gpu/sustained_factor"). Wherever a hardware name stands, the path of such a file may stand too.
std::string hardware_overlay(const std::string& name, const std::string& base,
                             const std::vector<std::pair<std::string, Figure>>& figures);

/// The text of hardware/step-time.json.
std::string coefficients_text(const TimeCoefficients& coefficients);

}  // namespace shardfit::io
