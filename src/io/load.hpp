// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/spec/scenario.hpp"
#include "validation/facts.hpp"
#include "validation/measured_run.hpp"
#include "validation/points.hpp"

namespace shardfit::io {

/// The folder that holds models/, hardware/, stacks/, recipes/, workloads/ and scenarios/: $SHARDFIT_DATA_DIR, else the
/// program's own folder or
/// ../share/shardfit beside it, else the source tree it was built from.
std::string data_dir();

/// A model by name (or alias) of models/, or from a path that ends in .json. Throws InputError, as all
/// loaders do.
ModelSpec load_model(const std::string& name_or_path);

/// A cluster by its name in hardware/ ("gb200-nvl72"), or from a path.
HardwareSpec load_hardware(const std::string& name_or_path);

/// A software profile by its name in stacks/, or from a path.
StackProfile load_stack(const std::string& name_or_path);

/// What samples hold, with the words of its file.
struct NamedWorkload {
  VisionWorkload workload;
  std::string description, source;
};
/// A workload by its name in workloads/, or from a path.
NamedWorkload load_workload(const std::string& name_or_path);

/// The shared coefficients of the step-time model: hardware/step-time.json.
TimeCoefficients load_coefficients();

/// A scenario file: README's "scenario format". What the file leaves out follows its stack's entry point, and
/// is listed in `Scenario::assumptions`. A name without a slash that is no file is looked up in scenarios/.
Scenario load_scenario(const std::string& path);

/// The same, from text; `file` is what errors call it.
Scenario parse_scenario(const std::string& text, const std::string& file);

std::vector<std::string> list_models();
std::vector<std::string> list_hardware();
std::vector<std::string> list_stacks();
std::vector<std::string> list_scenarios();
std::vector<std::string> list_workloads();

/// Measured runs, one a row. Only a file that is no list of objects throws; a row that cannot be read says
/// why.
std::vector<validation::MeasuredRun> load_measured(const std::string& path);

/// Pairs of measured runs. Throws on a row that cannot be read.
std::vector<validation::MeasuredEffect> load_effects(const std::string& path);

/// What is stated of runs beside their rows. Throws on a fact that states nothing, or says not how it is known.
std::vector<validation::RunFact> load_facts(const std::string& path);

/// A table of measured points: comma-separated, a heading, no quotes. Throws InputError on a line with more or fewer
/// cells than the heading.
validation::PointTable load_points(const std::string& path);

/// Those of gemm.csv, grouped_gemm_train.csv, attention_prefill.csv and mla_prefill.csv that a folder has. Throws InputError
/// for a folder without any of them.
std::vector<validation::PointTable> load_kernel_tables(const std::string& folder);

/// The clusters and coefficients that points are predicted with.
validation::PointContext load_point_context();

}  // namespace shardfit::io
