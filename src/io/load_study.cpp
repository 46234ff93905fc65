// SPDX-License-Identifier: Apache-2.0
#include "io/load_study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/data_dir.hpp"
#include "io/load.hpp"
#include "io/overrides.hpp"
#include "io/read_goals.hpp"
#include "io/read_run.hpp"
#include "io/read_search.hpp"

namespace shardfit::io {
namespace {

/// The values of an axis that makes jobs: those chosen, else those that the search lists, else none (the file's own field
/// stays). What the search lists may not stand in the job too.
template <class T, class Read>
std::vector<T> job_axis(Json& json, const char* key, const Json* fixed, const std::vector<T>& chosen, const Place& file,
                        Read read) {
  std::vector<T> values;
  const auto search = json.find("search");
  if (search != json.end() && search->is_object() && search->contains(key)) {
    const Json listed = (*search)[key];
    search->erase(key);
    const Value value(listed, file.down("search").down(key));
    if (fixed) value.refuse("an axis in one place", std::string(key) + " has a fixed value too");
    values = read(value);
  }
  for (auto at = chosen.begin(); at != chosen.end(); ++at)
    if (std::find(chosen.begin(), at, *at) != at)
      throw InputError("", "--" + std::string(key), fmt::format("{} twice", *at), "each value once");
  return chosen.empty() ? values : chosen;
}

/// A name, a list of distinct ones, or "all" of them.
std::vector<std::string> read_names(const Value& value, const std::vector<std::string>& all) {
  if (value.is_text() && value.as_text() == "all") return all;
  std::vector<std::string> names;
  for (const Value& v : value.is_list() ? value.as_list() : std::vector<Value>{value}) {
    const std::string name = v.as_text();
    if (std::find(names.begin(), names.end(), name) != names.end()) v.refuse("each value once");
    names.push_back(name);
  }
  if (names.empty()) value.refuse("a list of at least one value");
  return names;
}

std::vector<std::string> precisions() {
  const std::vector<std::string_view> names = all_names<Precision>();
  return {names.begin(), names.end()};
}

/// What a flag chose: "all" alone stands for all.
std::vector<std::string> spelled_out(const std::vector<std::string>& chosen, const std::vector<std::string>& all) {
  return chosen == std::vector<std::string>{"all"} ? all : chosen;
}

const Json* member(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

/// A search that listed only what makes jobs is none.
void drop_empty_search(Json& json) {
  const auto search = json.find("search");
  if (search != json.end() && search->is_object() && search->empty() && json.contains("layout")) json.erase("search");
}

class Expansion {
 public:
  Expansion(Json json, const std::string& file, const JobChoice& choice) : json_(std::move(json)), place_{file, ""} {
    if (!json_.is_object()) return;  // read_run says what is wrong
    const Json *training = member(json_, "training"), *own_gpus = member(json_, "gpus");
    hardware_ = job_axis(json_, "hardware", member(json_, "hardware"), spelled_out(choice.hardware, list_hardware()), place_,
                         [](const Value& v) { return read_names(v, list_hardware()); });
    gpus_ = job_axis(json_, "gpus", own_gpus, choice.gpus, place_, [](const Value& v) { return read_sizes_of(v, kMostGpus); });
    precision_ = job_axis(json_, "precision", training ? member(*training, "precision") : nullptr,
                          spelled_out(choice.precision, precisions()), place_,
                          [](const Value& v) { return read_names(v, precisions()); });
    drop_empty_search(json_);
    // A size that one job cannot have is no slip where it is another's, or the file's own before a flag changed its GPUs.
    if (own_gpus && own_gpus->is_number_integer()) rules_.largest_gpus = std::clamp(own_gpus->get<int>(), 0, kMostGpus);
    for (const int gpus : gpus_) rules_.largest_gpus = std::max(rules_.largest_gpus, gpus);
  }

  std::vector<Scenario> all() {
    with(
        hardware_, [&](const std::string& v) { json_["hardware"] = v; },
        [&] {
          with(
              gpus_, [&](int v) { json_["gpus"] = v; },
              [&] {
                with(
                    precision_, [&](const std::string& v) { json_["training"]["precision"] = v; }, [&] { read(); });
              });
        });
    return std::move(scenarios_);
  }

 private:
  template <class T, class Set, class Then>
  void with(const std::vector<T>& values, Set set, Then then) {
    if (values.empty()) return then();
    for (const T& value : values) {
      set(value);
      then();
    }
  }
  void read() {
    scenarios_.push_back(read_run(Value(json_, place_), rules_));
    if (scenarios_.back().name.empty()) scenarios_.back().name = place_.file;
  }

  Json json_;
  Place place_;
  RunRules rules_;
  std::vector<std::string> hardware_, precision_;
  std::vector<int> gpus_;
  std::vector<Scenario> scenarios_;
};

StudyFile study_of(Json json, const std::string& file, const JobChoice& choice) {
  StudyFile study;
  study.file = file;
  apply_overrides(json, choice.set);
  study.text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (const Json* goals = member(json, "goals")) study.goals = read_goals(Value(*goals, Place{file, "/goals"}));
  if (json.is_object()) json.erase("goals");
  study.scenarios = Expansion(std::move(json), file, choice).all();
  return study;
}

}  // namespace

StudyFile parse_study(const std::string& text, const std::string& file, const JobChoice& choice) {
  return study_of(parse_json(text, file), file, choice);
}

StudyFile load_study(const std::string& path, const JobChoice& choice) {
  const std::string file = path.find('/') == std::string::npos && !path.ends_with(".json")
                               ? find_data("scenarios", path, {"", "scenario"})
                               : path;
  return study_of(parse_json_file(file), file, choice);
}

Scenario first_job(StudyFile study) {
  Scenario first = std::move(study.scenarios.front());
  if (study.scenarios.size() > 1)
    first.assumptions.push_back(
        fmt::format("of {} jobs in the search the first is taken: {} x {} in {} (--gpus, --hardware, --precision)",
                    study.scenarios.size(), first.job.gpus, first.job.hardware.name, name_of(first.job.training.precision)));
  return first;
}

Scenario parse_scenario(const std::string& text, const std::string& file) { return first_job(parse_study(text, file)); }

Scenario load_scenario(const std::string& path) { return first_job(load_study(path)); }

}  // namespace shardfit::io
