// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibrate/kernel_fit.hpp"
#include "calibrate/shared_fit.hpp"
#include "calibrate/site_fit.hpp"
#include "shardfit/report/document.hpp"

namespace shardfit::cli {

/// Factors, and each run before and after.
Document site_document(const calibrate::SiteFit& fit, const std::vector<std::string>& left_out);

/// Every coefficient with its error and range; errors before and after, by model, system, precision and release, held out
/// and left out.
Document shared_document(const calibrate::SharedFit& fit, const std::vector<std::string>& left_out);

/// Each kernel curve against its points, as shipped and refitted, and the refitted numbers.
Document kernels_document(const std::vector<calibrate::KernelFit>& fits);

}  // namespace shardfit::cli
