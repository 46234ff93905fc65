// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/calibrate_documents.hpp"
#include "cli/help.hpp"
#include "cli/measured_files.hpp"
#include "cli/output.hpp"
#include "io/load.hpp"
#include "io/write_hardware.hpp"
#include "report/atomic_file.hpp"
#include "shardfit/base/error.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::vector<std::string> files, where;
  bool shared = false, quick = false;
  std::string save;     ///< overlay of a site, or coefficients
  std::string kernels;  ///< folder of kernel tables
  OutputFlags output;
};

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// The models that the fit is farthest off on the mean, in words.
std::string worst_models(const calibrate::SharedFit& fit) {
  constexpr std::size_t kNamed = 4;
  std::vector<const calibrate::ErrorGroup*> models;
  for (const calibrate::ErrorGroup& g : fit.groups)
    if (g.by == "model") models.push_back(&g);
  std::sort(models.begin(), models.end(),
            [](const auto* a, const auto* b) { return std::abs(a->after.bias) > std::abs(b->after.bias); });
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, models.size()); ++i)
    text += fmt::format("{}{} {:+.1f} %", i ? ", " : "", models[i]->name, 100 * models[i]->after.bias);
  return text;
}

std::string error_pair(const calibrate::ErrorStats& s) { return fmt::format("{:.1f} / {:.1f} %", 100 * s.median, 100 * s.p90); }

/// The coefficients as a file of data, with what the fit says of itself.
TimeCoefficients fitted_coefficients(const calibrate::SharedFit& fit, const TimeCoefficients& before) {
  TimeCoefficients c = before;
  c.source =
      "Least squares on log(predicted/measured) of " + std::to_string(fit.after.rows) +
      (fit.after.rows == 1 ? " measured step time" : " measured step times") +
      ", Cauchy loss of scale 0.12, runs of one model, system and precision weighted by count^-1/4, "
      "pulled to values expected from kernel measurements (src/calibrate/expectations.cpp). Re-made by `shardfit calibrate "
      "RUNS.json --where tuned --shared --save FILE`. One set for all models, layouts and releases; sustained tensor rates "
      "are in each GPU's file. low and high: smallest and largest value with one model left out, widened by the standard "
      "error.";
  c.fit_quality = "on those rows: median error " + percent(fit.after.median) + ", p90 " + percent(fit.after.p90) + ", max " +
                  percent(fit.after.max) + ", bias " + percent(fit.after.bias) + ".";
  if (fit.held_out.rows > 0)
    c.fit_quality += " Fitted to three quarters of them: " + error_pair(fit.held_in) + " there, " + error_pair(fit.held_out) +
                     " on the held-out quarter.";
  for (std::size_t i = 0; i < fit.pooled.size(); ++i)
    c.fit_quality += (i ? ", one " : " Predicted unseen, pooled: one ") + fit.pooled[i].by + " left out " +
                     error_pair(fit.pooled[i].unseen);
  if (!fit.pooled.empty()) c.fit_quality += ".";
  c.fit_quality += " Worst models by bias: " + worst_models(fit) + ".";
  for (const calibrate::FittedShared& v : fit.variables) {
    if (v.of.is_sustained()) continue;
    FittedValue& value = c.values[v.of.coefficient];
    value.value = v.value;
    value.standard_error = v.standard_error;
    value.low = std::max(0.0, v.lowest - v.standard_error);
    value.high = v.highest + v.standard_error;
  }
  return c;
}

int run_calibrate(const Flags& flags, Context& context) {
  Output output(flags.output);
  std::optional<AtomicFile> file;
  if (!flags.save.empty()) file.emplace(flags.save);
  std::vector<std::string> left_out;
  std::vector<calibrate::TimedRun> runs = calibrate::timed_runs(measured_runs(flags.files, flags.where), left_out);
  if (runs.empty())
    throw InputError("", "FILE", "no run with a step time", "at least one", left_out.empty() ? "" : left_out.front());
  if (!flags.shared) {
    const std::string source = "shardfit calibrate on " + std::to_string(runs.size()) + " run" + (runs.size() == 1 ? "" : "s") +
                               " of " + flags.files.front();
    const calibrate::SiteFit fit = calibrate::fit_site(runs, source);
    output.write(site_document(fit, left_out), context);
    if (file)
      file->stream() << io::hardware_overlay(fit.hardware.name, fit.hardware.name, calibrate::site_figures(fit.hardware));
  } else {
    calibrate::SharedFitOptions options{.hold_out = !flags.quick, .leave_out = !flags.quick};
    if (context.live) options.progress = [&context](const std::string& what) { context.err << "fitting " << what << '\n'; };
    const TimeCoefficients before = runs.front().job().time;
    const calibrate::SharedFit fit = calibrate::fit_shared(runs, options);
    output.write(shared_document(fit, left_out), context);
    if (file) file->stream() << io::coefficients_text(fitted_coefficients(fit, before));
  }
  if (file) file->commit();
  return kDone;
}

/// Kernel curves of all clusters against a folder of measured points; which are within their limits.
int run_kernels(const Flags& flags, Context& context) {
  if (!flags.files.empty() || flags.shared || !flags.save.empty())
    throw InputError("", "--kernels", "runs or another fit beside it", "--kernels FOLDER alone");
  Output output(flags.output);
  const calibrate::KernelPoints points = calibrate::kernel_points(io::load_kernel_tables(flags.kernels));
  std::vector<HardwareSpec> systems;
  for (const std::string& name : io::list_hardware()) systems.push_back(io::load_hardware(name));
  output.write(kernels_document(calibrate::fit_kernels(points, systems)), context);
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("calibrate",
                                         "Fit step times to measured runs: your site's, or the shared coefficients");
  command->footer(examples(
      "shardfit calibrate my-runs.json --save my-cluster.json\n"
      "shardfit calibrate tests/measured/throughput.json --where tuned --shared --save hardware/step-time.json\n"
      "shardfit calibrate --kernels kernel-tables                 (curves of hardware/*.json against measured kernels)"));
  command->add_option("files", flags->files, "JSON files of measured runs; one run is enough for a site")->type_name("FILE");
  command->add_option("--where", flags->where, "Only runs that meet a condition: tuned, key=value, key>number")
      ->type_name("CONDITION");
  command->add_flag("--shared", flags->shared, "Refit the coefficients that all models share, and the GPUs' sustained factors");
  command->add_flag("--quick", flags->quick, "With --shared: no held-out quarter, nothing left out");
  command->add_option("--save", flags->save, "Write the site's hardware overlay (with --shared: the coefficients) to FILE")
      ->type_name("FILE");
  command
      ->add_option("--kernels", flags->kernels,
                   "Hold kernel curves against measured kernels and refit them: gemm.csv, grouped_gemm_train.csv, "
                   "attention_prefill.csv, mla_prefill.csv of FOLDER")
      ->type_name("FOLDER");
  add_output_flags(*command, flags->output);
  command->callback([flags, command, &action] {
    if (flags->files.empty() && flags->kernels.empty()) throw CLI::RequiredError(command->get_name() + ": FILE or --kernels");
    action = [flags](Context& context) {
      return flags->kernels.empty() ? run_calibrate(*flags, context) : run_kernels(*flags, context);
    };
  });
}

}  // namespace shardfit::cli
