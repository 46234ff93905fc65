// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/report/document.hpp"
#include "shardfit/spec/coefficients.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit {

/// The numbers of the step-time model that ship as data and that no datasheet, measurement or other source states: the shared
/// coefficients with standard error and plausible range, fitted and assumed figures of the clusters, and how many numbers
/// the kernel curves have, with their errors.
Document coefficients_document(const TimeCoefficients& time, const std::vector<HardwareSpec>& clusters);

}  // namespace shardfit
