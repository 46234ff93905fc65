// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/load.hpp"
#include "io/measured_kind.hpp"
#include "io/measured_profile.hpp"
#include "io/measured_stack.hpp"
#include "io/measured_words.hpp"
#include "io/read_run.hpp"
#include "io/read_stack.hpp"
#include "io/recipes.hpp"
#include "io/run_fields.hpp"

namespace shardfit::io {
namespace {

using validation::MeasuredRun;

std::vector<std::string> texts_of(const Json& run, const char* key) {
  std::vector<std::string> texts;
  if (run.contains(key) && run[key].is_array())
    for (const Json& item : run[key])
      if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

void read_quantities(const Json& measured, MeasuredRun& run) {
  for (const auto& item : measured.items()) {
    const Json& v = item.value();
    if (v.is_number() && !v.is_boolean()) run.quantities[item.key()] = v.get<double>();
    if (v.is_array() && !v.empty() && std::all_of(v.begin(), v.end(), [](const Json& x) { return x.is_number(); }))
      run.by_rank[item.key()] = v.get<std::vector<double>>();
  }
  run.each_rank = text_of(measured, "rank") == "each";
  run.peak_kind = text_of(measured, "peak_kind");
  const bool oom = measured.value("oom", Json()) == true || text_of(measured, "outcome") == "OOM";
  const bool ran = measured.value("fits", Json()) == true || text_of(measured, "outcome") == "fits" ||
                   !run.quantities.empty() || !run.by_rank.empty();
  if (oom)
    run.oom = true;
  else if (ran)
    run.oom = false;
}

/// Whether GPUs are left over by whole groups of so many ranks.
bool ranks_left(int gpus, int group) { return group > 0 && gpus % group != 0; }

bool is_tuned(const MeasuredRun& run, const Json& row) {
  const bool graded = run.status == "published" || run.perf_grade == "tuned";
  const bool timed = run.quantities.contains("step_time_s") || run.quantities.contains("tflops_per_gpu");
  if (!graded || !timed || !run.incomplete.empty() || !run.invalid.empty()) return false;
  const Job& job = run.scenario.job;
  if (job.model.vision && !job.training.text_only) return false;
  return job.training.task != Task::lora || row["training"].contains("lora");
}

/// Runs of a benchmark recipe have what it sets, though their table does not say so.
void follow_recipe(const std::vector<RecipeSetting>& recipes, const std::string& profile, Json& run,
                   std::vector<std::string>& notes) {
  if (profile != "megatron-bridge-perf" || !run.contains("training") || !run["training"].is_object()) return;
  const RecipeUse use{text_of(run, "model"), text_of(run, "hardware"), text_of(run["training"], "precision"),
                      text_of(run, "date"),  int_of(run, "gpus", 0),   run,
                      text_of(run, "source")};
  for (std::string& note : fill_from_recipes(recipes, use, run)) notes.push_back(std::move(note));
}

/// Expert ranks that a row leaves out and that its software or its GPUs rule.
void complete_expert_grid(const Json& row, Scenario& scenario) {
  Layout& base = scenario.base;
  const int gpus = scenario.job.gpus, ranks = gpus / std::max(1, base.tp * base.pp);
  if (const auto ep = implied_expert_parallel(row, scenario.job.model, ranks)) {
    base.ep = *ep;
    base.etp = 1;
    scenario.assumptions.push_back("ep " + std::to_string(*ep) +
                                   " is assumed: the dispatch library needs more than one rank "
                                   "(layout.ep)");
  }
  const Json& layout = row.contains("layout") ? row["layout"] : row;
  const bool stated = int_of(layout, "etp", 0) > 0;
  const int experts = base.ep * base.pp;
  if (stated || !ranks_left(gpus, experts * base.etp) || ranks_left(gpus, experts)) return;
  base.etp = 1;
  scenario.assumptions.push_back("etp 1 is assumed: ranks of a larger one do not divide the GPUs (layout.etp)");
}

MeasuredRun read_row(const Json& row, const std::vector<RecipeSetting>& recipes, const std::set<std::string>& benchmarks,
                     const std::string& file, std::size_t index) {
  MeasuredRun run;
  run.file = file;
  const Place place = Place{file, ""}.down(index);
  if (!row.is_object()) {
    run.invalid = InputError(file, place.pointer, Value(row, place).quoted(), "an object").what();
    return run;
  }
  run.id = text_of(row, "id");
  run.source = text_of(row, "source");
  run.release = text_of(row, "release");
  run.status = text_of(row, "status");
  run.perf_grade = text_of(row, "perf_grade");
  run.group = text_of(row, "group");
  run.variant = text_of(row, "variant");
  run.family = texts_of(row, "family");
  run.incomplete = texts_of(row, "incomplete");
  run.fields = run_fields(row);
  if (row.contains("measured") && row["measured"].is_object()) read_quantities(row["measured"], run);
  try {
    Json run_json = row;
    std::vector<std::string> filled = put_into_fields(run_json);
    for (std::string& note : apply_software(run_json)) filled.push_back(std::move(note));
    const std::string profile = profile_of(row, benchmarks);
    follow_recipe(recipes, profile, run_json, filled);
    run.scenario = read_run(Value(run_json, place), {Missing::assume, profile});
    run.scenario.job.stack = dated(run.scenario.job.stack, row, run.scenario.job.model);
    if (has_inferred(row)) {
      Json bare = without_inferred(row);
      apply_software(bare);
      run.stack_by_profile = dated(read_stack(Value(bare["stack"], place), profile).profile, row, run.scenario.job.model);
    }
    complete_expert_grid(run_json, run.scenario);
    run.scenario.assumptions.insert(run.scenario.assumptions.end(), filled.begin(), filled.end());
    if (offloads_checkpoints(row))
      run.scenario.base.offload.activation_layers = run.scenario.job.model.text.num_hidden_layers - 1;
    const auto stated = [&](const char* block) {
      return row.contains(block) && row[block].is_object() && row[block].contains("global_batch_size");
    };
    run.global_batch_assumed = !stated("training") && !stated("assumed");
  } catch (const std::exception& error) {  // InputError, or a value of a type that nothing expects
    run.invalid = error.what();
  }
  run.tuned = is_tuned(run, row);
  run.fields["tuned"] = run.tuned ? "true" : "false";
  return run;
}

}  // namespace

std::vector<MeasuredRun> load_measured(const std::string& path) {
  const Json json = parse_json_file(path);
  require_kind(json, path, MeasuredKind::runs);
  std::vector<MeasuredRun> runs;
  runs.reserve(json.size());
  const std::vector<RecipeSetting> recipes = load_recipes();
  const std::set<std::string> benchmarks = benchmark_groups(json);
  for (std::size_t i = 0; i < json.size(); ++i) runs.push_back(read_row(json[i], recipes, benchmarks, path, i));
  return runs;
}

}  // namespace shardfit::io
