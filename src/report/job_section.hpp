// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/document.hpp"
#include "shardfit/search/study.hpp"

namespace shardfit::report {

/// What a document is about: model, cluster, training and software, in one block; the same in every view.
Section job_section(const Scenario& scenario);

/// The same for a study: where its jobs differ, all their values.
Section job_section(const Study& study);

/// "Qwen3-VL-235B-A22B on 64 x gb200-nvl72", the heading of a document.
std::string job_title(const Scenario& scenario);
std::string job_title(const Study& study);

}  // namespace shardfit::report
