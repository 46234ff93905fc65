// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>

#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/output_paths.hpp"
#include "cli/progress.hpp"
#include "cli/ranks.hpp"
#include "cli/sweep_flags.hpp"
#include "io/words.hpp"

namespace shardfit::cli {
namespace {

/// Often enough that little is lost, seldom enough that the file's megabyte is nothing.
constexpr double kCheckpointSeconds = 20;

struct Flags : SweepFlags {
  std::string all_csv, resume, shard;
  int threads = 0;
  bool no_prune = false;
};

/// "0/4": the first of four.
Shard shard_of(const std::string& text) {
  const std::vector<std::string> parts = pieces(text, '/');
  if (parts.size() != 2) throw InputError("", "--shard", "'" + text + "'", "i/n, as in 0/4");
  const Shard shard{std::uint32_t(io::whole_number("--shard", parts[0], 0)),
                    std::uint32_t(io::whole_number("--shard", parts[1]))};
  if (shard.index >= shard.of) throw InputError("", "--shard", "'" + text + "'", "i below n: shards are numbered from 0");
  return shard;
}

Shard wanted_shard(const Flags& flags, const Ranks& ranks) {
  if (ranks.size() > 1 && !flags.shard.empty())
    throw InputError("", "--shard", "'" + flags.shard + "' under MPI", "one way of splitting",
                     "each MPI process is a shard already");
  if (!flags.shard.empty() && flags.resume.empty())
    throw InputError("", "--shard", "'" + flags.shard + "' alone", "--resume FILE beside it",
                     "that is where `merge` finds the shard");
  const OutputFlags& out = flags.output;
  const std::pair<const char*, bool> of_results[] = {{"--pareto-csv", !flags.pareto_csv.empty()},
                                                     {"--top-csv", !flags.top_csv.empty()},
                                                     {"-o", !out.file.empty()},
                                                     {"--format", !out.format.empty()},
                                                     {"--section", !out.sections.empty()}};
  for (const auto& [flag, given] : of_results)
    if (given && !flags.shard.empty())
      throw InputError("", flag, "a result of one shard", "the result of all", "`merge` writes it");
  const Shard shard = flags.shard.empty() ? Shard{std::uint32_t(ranks.rank()), std::uint32_t(ranks.size())}
                                          : shard_of(flags.shard);
  if (!flags.all_csv.empty() && (shard.of > 1 || !flags.resume.empty()))
    throw InputError("", "--csv", "'" + flags.all_csv + "'", "one sweep from start to end",
                     "leave out --shard, --resume and MPI");
  return shard;
}

/// Where a part is kept: each MPI process has a file of its own.
std::string resume_path(const Flags& flags, const Ranks& ranks) {
  if (flags.resume.empty() || ranks.size() == 1) return flags.resume;
  return flags.resume + "." + std::to_string(ranks.rank()) + "-of-" + std::to_string(ranks.size());
}

void save(const std::string& path, const io::PartialKey& key, const PartialSweep& part) {
  AtomicFile file(path);
  file.stream() << io::partial_text(key, part);
  file.commit();
}

PartialSweep taken_up(const std::string& path, const io::PartialKey& key, Shard shard) {
  if (path.empty() || !std::filesystem::exists(path)) return {};
  PartialSweep part = io::load_partial(path, key);
  if (part.shard != shard)
    throw InputError(path, "/shard", std::to_string(part.shard.index) + "/" + std::to_string(part.shard.of),
                     std::to_string(shard.index) + "/" + std::to_string(shard.of), "give the --shard that it was begun with");
  return part;
}

SweepOptions options_of(const Flags& flags, const Context& context, Shard shard) {
  SweepOptions options = result_options(flags);
  options.threads = flags.threads;
  options.prune = !flags.no_prune;
  options.shard = shard;
  options.interrupted = [&context] { return context.stopped(); };
  return options;
}

/// Tells the size of the space before the sweep: each process counts the layouts of its part, and rank 0 says what they come
/// to. Returns this part's.
std::uint64_t tell_space(const Study& study, SweepOptions options, const Ranks& ranks, Context& context) {
  options.prune = true;  // the same count, sooner
  const std::optional<std::uint64_t> mine = count_valid(study, options);
  std::uint64_t all = mine.value_or(0);
  bool known = mine.has_value();
  if (ranks.size() > 1) {
    all = 0;
    for (const std::string& text : ranks.gather(mine ? std::to_string(*mine) : "")) {
      known = known && !text.empty();
      all += text.empty() ? 0 : std::stoull(text);
    }
  }
  const bool part = ranks.size() == 1 && options.shard.of > 1;
  if (known) context.err << "shardfit: " << space_text(study.size(), all) << (part ? " in this shard" : "") << std::endl;
  return mine.value_or(0);
}

PartialSweep walk(const Study& study, SweepOptions options, const Flags& flags, PartialSweep start, const Ranks& ranks,
                  Context& context) {
  using Clock = std::chrono::steady_clock;
  // All processes count or none does: what one has done already is no reason to leave the others waiting.
  if (ranks.size() > 1 || !start.complete() || start.units == 0)
    options.expected_valid = tell_space(study, options, ranks, context);
  std::optional<AtomicFile> all;
  if (!flags.all_csv.empty()) {
    all.emplace(flags.all_csv);
    all->stream() << candidates_csv_header();
    options.row_text = CandidateLines(study);
    options.rows = [&all](const std::string& text) { all->stream() << text; };
  }
  const Clock::time_point begun = Clock::now();
  Progress progress(context.err, context.live);
  options.progress = [&](const SweepProgress& now) {
    progress.show(now, std::chrono::duration<double>(Clock::now() - begun).count());
  };
  PartialSweep part = search_part(study, options, std::move(start));
  progress.finish();
  if (all && part.complete())
    all->commit();
  else if (all)
    context.err << "shardfit: interrupted: " << flags.all_csv << " is not written\n";
  return part;
}

/// Rank 0 gets the parts of all; others get nothing.
std::optional<PartialSweep> gathered(const Ranks& ranks, const Study& study, const SweepOptions& options,
                                     const io::PartialKey& key, PartialSweep&& part) {
  if (ranks.size() == 1) return std::move(part);
  std::vector<PartialSweep> parts;
  for (const std::string& text : ranks.gather(io::partial_text(key, part)))
    parts.push_back(io::parse_partial(text, "MPI", key));
  if (ranks.rank() != 0) return std::nullopt;
  return merged(std::move(parts), study, options, false);
}

int run_sweep(const Flags& flags, Context& context) {
  const auto begun = std::chrono::steady_clock::now();
  const Ranks ranks;
  std::ostream nowhere(nullptr);
  Context quiet{nowhere, nowhere, false, false, context.stop};
  Context& talk = ranks.rank() == 0 ? context : quiet;
  const Shard shard = wanted_shard(flags, ranks);
  keep_apart({{"scenario", flags.scenario}}, {{"-o", flags.output.file},
                                              {"--pareto-csv", flags.pareto_csv},
                                              {"--top-csv", flags.top_csv},
                                              {"--csv", flags.all_csv},
                                              {"--resume", flags.resume}});
  std::optional<ResultFiles> files;
  if (ranks.rank() == 0) files.emplace(flags);
  const KeyedStudy keyed(flags);
  const Study& study = keyed.study();
  if (files) files->check_sections(study);
  SweepOptions options = options_of(flags, context, shard);
  const std::string path = resume_path(flags, ranks);
  const io::PartialKey key = path.empty() && ranks.size() == 1 ? io::PartialKey() : keyed.key();
  PartialSweep start = taken_up(path, key, shard);
  if (!path.empty()) {
    options.checkpoint_s = kCheckpointSeconds;
    options.checkpoint = [&](const PartialSweep& known) { save(path, key, known); };
    save(path, key, search_nothing(study, options, start));  // a path that cannot be written fails now
  }
  PartialSweep part = walk(study, options, flags, std::move(start), ranks, talk);
  if (!path.empty()) save(path, key, part);
  if (!flags.shard.empty()) {
    talk.err << "shardfit: shard " << flags.shard << ": " << part.done << " of " << part.units << " units of work done, in "
             << path << '\n';
    return part.complete() ? kDone : kInterrupted;
  }
  if (!path.empty() && !part.complete()) talk.err << "shardfit: interrupted: the same command goes on from " << path << '\n';
  std::optional<PartialSweep> whole = gathered(ranks, study, options, key, std::move(part));
  if (!whole) return context.stopped() ? kInterrupted : kDone;
  SweepResult result = result_with_nearest(study, options, std::move(*whole));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  files->write(study, result, context);
  return exit_code(result);
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sweep", "Rank every layout of a scenario's search; Pareto front; refusals by reason");
  command->footer(
      examples("shardfit sweep scenarios/qwen3-vl-235b-gb200.json\n"
               "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --csv all.csv --pareto-csv front.csv\n"
               "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --tp 1,2,4 --recompute none,full --top 5 --format json\n"
               "shardfit sweep scenarios/llama-3-70b-gb200.json --gpus 64,128 --objective cost --usd-per-gpu-hour 5\n"
               "shardfit sweep scenarios/deepseek-v3-gb200.json --resume known.json"));
  add_sweep_flags(*command, *flags);
  command->add_option("--csv", flags->all_csv, "Write every allowed layout to FILE")->type_name("FILE")->check(some_text());
  command->add_option("--resume", flags->resume, "Keep what is known in FILE, and go on from it if it is there")
      ->type_name("FILE")
      ->check(some_text());
  command->add_option("--shard", flags->shard, "Only one of n parts of the work, 0/n to n-1/n, into --resume FILE; see `merge`")
      ->type_name("i/n");
  command->add_option("--threads", flags->threads, "Threads (0: all)")
      ->check(CLI::Range(0, 4096))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--no-prune", flags->no_prune, "Look at every combination by itself: the same result, slowly");
  command->callback([flags, &action] { action = [flags](Context& context) { return run_sweep(*flags, context); }; });
}

}  // namespace shardfit::cli
