// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help.hpp"
#include "cli/measured_files.hpp"
#include "cli/output.hpp"
#include "cli/output_paths.hpp"
#include "io/load.hpp"
#include "report/points_view.hpp"
#include "report/validation_view.hpp"
#include "shardfit/base/error.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::vector<std::string> files, points, where;
  std::string effects, facts;
  double min_supported = 0, max_median = 0, max_p90 = 0;  ///< 0: not asked for
  OutputFlags output;
};

/// The limits that the result breaks, one sentence each.
std::vector<std::string> broken_limits(const Flags& flags, const validation::Summary& s) {
  std::vector<std::string> broken;
  const double supported = s.rows ? double(s.ok) / s.rows : 0;
  if (flags.min_supported > 0 && supported < flags.min_supported)
    broken.push_back("supported: " + std::to_string(supported) + " is below " + std::to_string(flags.min_supported));
  for (const validation::QuantitySummary& q : s.quantities) {
    if (flags.max_median > 0 && q.median_abs_error > flags.max_median)
      broken.push_back(q.quantity + ": median error " + std::to_string(q.median_abs_error) + " is above " +
                       std::to_string(flags.max_median));
    if (flags.max_p90 > 0 && q.p90_abs_error > flags.max_p90)
      broken.push_back(q.quantity + ": p90 error " + std::to_string(q.p90_abs_error) + " is above " +
                       std::to_string(flags.max_p90));
  }
  return broken;
}

std::vector<std::string> broken_limits(const Flags& flags, const validation::PointScores& scores) {
  validation::Summary s;
  for (const validation::PointSummary& p : summarize_points(scores, &validation::PointScore::family))
    s.quantities.push_back(p.errors);
  s.ok = int(scores.scores.size());
  s.rows = s.ok;
  for (const auto& [reason, n] : scores.left_out) s.rows += n;
  return broken_limits(flags, s);
}

int finish(const std::vector<std::string>& broken, Context& context) {
  for (const std::string& text : broken) context.err << "shardfit: limit broken: " << text << '\n';
  return broken.empty() ? kDone : kDoesNotFit;
}

/// CSV is the rows; of other sections those that are named.
Document csv_document(Document rows, Document sections, const std::vector<std::string>& named) {
  if (named.empty()) return rows;
  for (Section& section : rows.sections) sections.sections.push_back(std::move(section));
  return sections;
}

int run_points(const Flags& flags, Context& context) {
  if (!flags.files.empty() || !flags.where.empty() || !flags.effects.empty() || !flags.facts.empty())
    throw InputError("", "--points", "runs, --where, --facts or --effects beside it", "tables of points alone",
                     "validate runs and points in two calls");
  Output output(flags.output);
  const validation::PointContext with = io::load_point_context();
  validation::PointScores scores;
  for (const std::string& file : flags.points) score_points(io::load_points(file), with, scores);
  if (flags.output.format == "markdown")
    output.write_text(points_markdown(scores), context);
  else if (format_of(flags.output) == Format::csv)
    output.write(csv_document(points_rows_document(scores), points_document(scores), flags.output.sections), context);
  else
    output.write(points_document(scores), context);
  return finish(broken_limits(flags, scores), context);
}

int run_validate(const Flags& flags, Context& context) {
  if (!flags.points.empty()) return run_points(flags, context);
  if (flags.files.empty())
    throw InputError("", "FILE", "no file", "JSON files of measured runs, or --points with tables of measured kernels");
  std::vector<NamedPath> read{{"--effects", flags.effects}, {"--facts", flags.facts}};
  for (const std::string& file : flags.files) read.push_back({"runs", file});
  keep_apart(read, {{"-o", flags.output.file}});
  Output output(flags.output);
  ValidationResult result;
  result.runs = measured_runs(flags.files, flags.where);
  if (!flags.facts.empty()) result.facts = io::load_facts(flags.facts);
  result.facts_held = validation::state_facts(result.facts, result.runs);
  for (const validation::MeasuredRun& run : result.runs) result.rows.push_back(validation::score(run));
  result.summary = validation::summarize(result.runs, result.rows);
  result.first_steps = validation::read_first_steps(result.runs, result.rows);
  for (std::size_t i = 0; i < result.runs.size(); ++i)
    for (validation::AssumedEffect& effect : validation::vary_assumed(result.runs[i], result.rows[i]))
      result.assumed.push_back(std::move(effect));
  if (!flags.effects.empty())
    result.effects = validation::score_effects(io::load_effects(flags.effects), result.runs, result.rows);

  const std::vector<std::string> broken = broken_limits(flags, result.summary);
  if (flags.output.format == "markdown")
    output.write_text(validation_markdown(result), context);
  else if (format_of(flags.output) == Format::json)
    output.write_text(validation_json(result), context);
  else if (format_of(flags.output) == Format::csv)
    output.write(csv_document(validation_rows_document(result), validation_document(result), flags.output.sections), context);
  else
    output.write(validation_document(result), context);
  return finish(broken, context);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("validate", "Hold predictions against measured runs or kernels");
  command->footer(
      examples("shardfit validate tests/measured/memory.json --facts tests/measured/facts.json\n"
               "shardfit validate tests/measured/throughput.json --where tuned --where hardware=gb200-nvl72\n"
               "shardfit validate tests/measured/memory.json --where 'static>4GiB' --max-median 0.01 --format json\n"
               "shardfit validate --points tests/measured/points/nccl.csv"));
  command->add_option("files", flags->files, "JSON files of measured runs")->type_name("FILE");
  command->add_option("--where", flags->where, "Only runs that meet a condition: tuned, key=value, key>number")
      ->type_name("CONDITION");
  command->add_option("--points", flags->points, "Tables (.csv) of measured collectives or expert dispatch in place of runs")
      ->type_name("FILE");
  command->add_option("--effects", flags->effects, "Score pairs of runs that differ by one change")->type_name("FILE");
  command->add_option("--facts", flags->facts, "What is known of runs but is in no field of theirs (tests/measured/facts.json)")
      ->type_name("FILE");
  command->add_option("--min-supported", flags->min_supported, "Fail (exit 1) below this share of rows with a prediction");
  command->add_option("--max-median", flags->max_median, "Fail above this median error of any quantity (0.05 is 5 %)");
  command->add_option("--max-p90", flags->max_p90, "Fail above this 90th percentile of errors of any quantity");
  add_output_flags(*command, flags->output, {"markdown"});
  command->callback([flags, &action] { action = [flags](Context& context) { return run_validate(*flags, context); }; });
}

}  // namespace shardfit::cli
