// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/document.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit::report {

/// Every figure of a cluster with its unit, kind (datasheet, measured, fitted, assumed) and source.
Section figures_section(const HardwareSpec& hardware);

}  // namespace shardfit::report
