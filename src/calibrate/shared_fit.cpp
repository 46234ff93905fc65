// SPDX-License-Identifier: Apache-2.0
#include "calibrate/shared_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "validation/summary.hpp"

namespace shardfit::calibrate {
namespace {

using Chosen = std::vector<std::size_t>;  // indices of runs

constexpr double kRepeatWeight = -0.25;  // assumed: rows that repeat a setting over releases say less than new ones
constexpr int kRefitIterations = 8;      // a refit starts at the fit of all: it is near

std::string model_of(const TimedRun& r) { return r.job().model.name; }
std::string system_of(const TimedRun& r) { return r.job().hardware.name; }
std::string precision_of(const TimedRun& r) { return std::string(name_of(r.job().training.precision)); }
std::string release_of(const TimedRun& r) { return r.release().empty() ? "none stated" : r.release(); }
/// Before and after the spring of 2026, when full-iteration graphs came.
std::string release_range_of(const TimedRun& r) {
  return !r.release().empty() && r.release() < "26.04" ? "before 26.04" : "from 26.04";
}

struct Key {
  const char* by;
  std::string (*of)(const TimedRun&);
};
constexpr Key kGroupKeys[] = {{"model", model_of}, {"system", system_of}, {"precision", precision_of}, {"release", release_of}};
constexpr Key kLeaveKeys[] = {{"model", model_of}, {"system", system_of}, {"release range", release_range_of}};

/// Coefficients and sustained factor of one run at some values of the variables.
struct Setting {
  TimeCoefficients time;
  double sustained = 1;
};

class Fitter {
 public:
  Fitter(std::vector<TimedRun>& runs, std::vector<SharedVariable> variables) : runs_(runs), variables_(std::move(variables)) {
    for (const TimedRun& run : runs_) settings_.push_back({run.job().time, run.job().hardware.gpu.sustained_factor.value});
  }

  const std::vector<SharedVariable>& variables() const { return variables_; }

  double log_error(std::size_t run, std::span<const double> values) {
    Setting& s = settings_[run];
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (!variables_[i].is_sustained())
        s.time.values[variables_[i].coefficient].value = values[i];
      else if (variables_[i].system == runs_[run].job().hardware.name)
        s.sustained = values[i];
    }
    return std::log(runs_[run].seconds(s.time, s.sustained) / runs_[run].measured_s());
  }

  FittedVariables fit_to(const Chosen& chosen, std::span<const double> start, int iterations) {
    std::map<std::string, int> repeats;
    const auto key = [this](std::size_t i) {
      return model_of(runs_[i]) + "/" + system_of(runs_[i]) + "/" + precision_of(runs_[i]);
    };
    for (std::size_t i : chosen) ++repeats[key(i)];
    Objective objective;
    for (std::size_t i : chosen) objective.weights.push_back(std::pow(repeats[key(i)], kRepeatWeight));
    objective.residual = [this, &chosen](std::size_t row, std::span<const double> x) { return log_error(chosen[row], x); };
    objective.depends = [this, &chosen](std::size_t row, std::size_t v) {
      return calibrate::depends(runs_[chosen[row]].job(), variables_[v]);
    };
    std::vector<Variable> plain;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      plain.push_back(variables_[v].variable);
      plain.back().start = start[v];
    }
    // A GPU of which no run is left says nothing: its factor goes back to what is expected.
    for (std::size_t v = 0; v < plain.size(); ++v) {
      const bool seen = std::any_of(chosen.begin(), chosen.end(),
                                    [&](std::size_t i) { return calibrate::depends(runs_[i].job(), variables_[v]); });
      if (!seen) plain[v].start = plain[v].expected;
    }
    return fit(plain, objective, {.max_iterations = iterations});
  }

  std::vector<double> errors(const Chosen& chosen, std::span<const double> values) {
    std::vector<double> out;
    for (std::size_t i : chosen) out.push_back(std::exp(log_error(i, values)) - 1);
    return out;
  }

 private:
  std::vector<TimedRun>& runs_;
  std::vector<SharedVariable> variables_;
  std::vector<Setting> settings_;
};

template <class F>
Chosen choose(const std::vector<TimedRun>& runs, F wanted) {
  Chosen chosen;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (wanted(runs[i])) chosen.push_back(i);
  return chosen;
}

void add_groups(const std::vector<TimedRun>& runs, const std::vector<double>& before, const std::vector<double>& after,
                SharedFit& result) {
  for (const Key& key : kGroupKeys) {
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> of;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      of[key.of(runs[i])].first.push_back(before[i]);
      of[key.of(runs[i])].second.push_back(after[i]);
    }
    for (const auto& [name, errors] : of)
      result.groups.push_back({key.by, name, error_stats(errors.first), error_stats(errors.second)});
  }
}

/// Refits without each value of a key in turn, and predicts what was left out.
void leave_out(const Key& key, Fitter& fitter, const std::vector<TimedRun>& runs, const std::vector<double>& all,
               const SharedFitOptions& options, SharedFit& result) {
  std::set<std::string> names;
  for (const TimedRun& run : runs) names.insert(key.of(run));
  std::vector<double> pooled;
  const bool models = key.of == model_of;
  for (const std::string& name : names) {
    options.progress("without " + name);
    const Chosen rest = choose(runs, [&](const TimedRun& r) { return key.of(r) != name; });
    const Chosen left = choose(runs, [&](const TimedRun& r) { return key.of(r) == name; });
    if (rest.empty()) continue;
    const FittedVariables refit = fitter.fit_to(rest, all, kRefitIterations);
    const std::vector<double> unseen = fitter.errors(left, refit.values);
    pooled.insert(pooled.end(), unseen.begin(), unseen.end());
    result.left_out.push_back({key.by, name, error_stats(unseen), error_stats(fitter.errors(left, all)).bias});
    for (std::size_t v = 0; models && v < refit.values.size(); ++v) {
      result.variables[v].lowest = std::min(result.variables[v].lowest, refit.values[v]);
      result.variables[v].highest = std::max(result.variables[v].highest, refit.values[v]);
    }
  }
  if (!pooled.empty()) result.pooled.push_back({key.by, "", error_stats(pooled), 0});
}

}  // namespace

ErrorStats error_stats(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  const validation::QuantitySummary s = validation::summarize_errors("", errors);
  return {s.rows, s.median_abs_error, s.p90_abs_error, s.max_abs_error, s.bias};
}

bool is_held_out(const std::string& id) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a: the same on every machine, unlike std::hash
  for (const char c : id) hash = (hash ^ std::uint64_t(static_cast<unsigned char>(c))) * 1099511628211ull;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;  // FNV spreads the last bytes badly: MurmurHash3's finaliser
  return (hash ^ (hash >> 33)) % 4 == 0;
}

SharedFit fit_shared(std::vector<TimedRun>& runs, const SharedFitOptions& options) {
  SharedFit result;
  if (runs.empty()) return result;
  std::vector<const Job*> jobs;
  for (const TimedRun& run : runs) jobs.push_back(&run.job());
  Fitter fitter(runs, shared_variables(jobs));
  std::vector<double> start;
  for (const SharedVariable& v : fitter.variables()) start.push_back(v.variable.start);
  const Chosen all = choose(runs, [](const TimedRun&) { return true; });
  const std::vector<double> before = fitter.errors(all, start);

  options.progress("all runs");
  const FittedVariables fitted = fitter.fit_to(all, start, FitOptions{}.max_iterations);
  const std::vector<double> after = fitter.errors(all, fitted.values);
  for (std::size_t v = 0; v < start.size(); ++v)
    result.variables.push_back(
        {fitter.variables()[v], start[v], fitted.values[v], fitted.standard_errors[v], fitted.values[v], fitted.values[v]});
  result.before = error_stats(before);
  result.after = error_stats(after);
  add_groups(runs, before, after, result);

  if (options.hold_out) {
    options.progress("three quarters");
    const Chosen in = choose(runs, [](const TimedRun& r) { return !is_held_out(r.id()); });
    const Chosen out = choose(runs, [](const TimedRun& r) { return is_held_out(r.id()); });
    const FittedVariables part = fitter.fit_to(in, start, FitOptions{}.max_iterations);
    result.held_in = error_stats(fitter.errors(in, part.values));
    result.held_out = error_stats(fitter.errors(out, part.values));
  }
  if (options.leave_out)
    for (const Key& key : kLeaveKeys) leave_out(key, fitter, runs, fitted.values, options, result);
  return result;
}

}  // namespace shardfit::calibrate
