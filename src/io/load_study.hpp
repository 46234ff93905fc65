// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/search/goals.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::io {

/// Values of what a job is made of; they win over those of the file. Empty: as the file says.
struct JobChoice {
  std::vector<std::string> hardware;
  std::vector<int> gpus;
  std::vector<std::string> precision;
  std::vector<std::string> set;  ///< single fields, "training.vision=coco-captions"
};

/// A scenario file whose search may list hardware, GPU counts and precisions: one scenario for each combination, hardware
/// outermost, precision innermost.
struct StudyFile {
  std::string file;
  std::string text;  ///< the file's content, without layout and choice of words that JSON leaves free
  std::vector<Scenario> scenarios;
  Goals goals;
};

/// As `load_scenario`. Values of the file's search that depend on the job ("all") are those of each job.
StudyFile load_study(const std::string& path, const JobChoice& choice = {});
StudyFile parse_study(const std::string& text, const std::string& file, const JobChoice& choice = {});

/// The first job of a study, for commands that look at one; says so if there are more.
Scenario first_job(StudyFile study);

}  // namespace shardfit::io
