// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>

namespace CLI {
class App;
}

namespace shardfit::cli {

/// What the process's exit code means.
enum ExitCode { kDone = 0, kDoesNotFit = 1, kBadInput = 2, kInternalError = 3, kInterrupted = 130 };

/// Where a command reads its manners from: data goes to `out`, talk to `err`.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;                      ///< `out` is a terminal and NO_COLOR is unset
  bool live = false;                        ///< `err` is a terminal: progress may overwrite its line
  const std::atomic<bool>* stop = nullptr;  ///< set by Ctrl-C; may be null
  bool stopped() const { return stop && stop->load(std::memory_order_relaxed); }
};

/// What parsing leaves to do; returns the exit code.
using Action = std::function<int(Context&)>;

// One subcommand each: adds it to `app`; its callback sets `action`.
void add_sweep(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_estimate(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_topo(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);

}  // namespace shardfit::cli
