// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "cli/cli.hpp"
#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/usage.hpp"
#include "cli/version.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/estimate/estimate.hpp"

namespace shardfit::cli {
namespace {

/// Set by the signal handler, which may touch nothing else; the one variable of the program that is global, because a
/// handler has no other way to speak.
std::atomic<bool> stop_requested{false};

extern "C" void on_interrupt(int signal) {
  stop_requested.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);  // a second Ctrl-C ends at once
}

constexpr const char* kWhat = "Predicts memory, traffic and step time of layouts of Megatron training, without a GPU.";

constexpr const char* kExamples =
    "Examples:\n"
    "  shardfit sweep scenarios/qwen3-vl-235b-gb200.json                  rank every layout\n"
    "  shardfit sweep scenarios/qwen3-vl-235b-gb200.json --csv all.csv    ... and keep them all\n"
    "  shardfit explain scenarios/qwen3-vl-235b-gb200.json --layout ID    where its bytes and seconds go\n"
    "  shardfit check scenarios/llama-3-70b-gb200.json --tp 2 --pp 4      exit code 0: it fits";

std::string version_text() {
  return std::string("shardfit ") + kVersion + " (cost model " + std::string(kCostModelVersion) + ")";
}

void fill(CLI::App& app, Action& action) {
  app.name("shardfit");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.formatter(help_formatter());
  app.footer(kExamples);
  add_sweep(app, action);
  add_compare(app, action);
  add_merge(app, action);
  add_estimate(app, action);
  add_check(app, action);
  add_explain(app, action);
  add_topo(app, action);
  add_validate(app, action);
  add_calibrate(app, action);
  add_list(app, action);
}

/// Runs what was asked for; no exception leaves.
int guarded(const Action& action, Context& context) {
  try {
    const int code = action(context);
    context.out.flush();
    if (!context.out) throw InputError("", "stdout", "a write error", "room to write the result");
    return code;
  } catch (const InputError& error) {
    context.err << "shardfit: " << error.what() << '\n';
    return kBadInput;
  } catch (const std::exception& error) {
    context.err << "shardfit: internal error: " << error.what() << " (please report it with the command line)\n";
    return kInternalError;
  }
}

int run_in(std::vector<std::string> args, Context& context) {
  CLI::App app(kWhat);
  Action action;
  fill(app, action);
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 takes them last first
    app.parse(reversed);
  } catch (const CLI::CallForVersion&) {
    context.out << version_text() << '\n';
    return kDone;
  } catch (const CLI::Success&) {
    const auto chosen = app.get_subcommands();
    std::string text = chosen.empty() ? app.help() : chosen.front()->help("shardfit");
    text.erase(text.find_last_not_of('\n') + 1);
    context.out << text << '\n';
    return kDone;
  } catch (const CLI::ParseError& error) {
    context.err << "shardfit: " << usage_message(app, args, error) << '\n';
    return kBadInput;
  }
  return guarded(action, context);
}

bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

}  // namespace

int run(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);  // a batch system's way of saying that time is up
  Context context{std::cout, std::cerr, colour_wanted(), ::isatty(STDERR_FILENO) != 0, &stop_requested};
  const int code = run_in(std::vector<std::string>(argv + 1, argv + argc), context);
  std::cout.flush();
  return code;
}

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const std::atomic<bool>* stop) {
  Context context{out, err, false, false, stop};
  return run_in(args, context);
}

}  // namespace shardfit::cli
