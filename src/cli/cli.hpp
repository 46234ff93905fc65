// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <iosfwd>
#include <string>
#include <vector>

namespace shardfit::cli {

/// The program: parses, runs one subcommand, prints, returns the exit code (see ExitCode). Ctrl-C ends a sweep early, and
/// what is known by then is still written.
int run(int argc, char** argv);

/// The same on given streams, as if neither were a terminal: no colour, no moving progress, no signal handler. `args` has
/// no program name; `stop` takes the place of Ctrl-C. For tests and for embedding.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const std::atomic<bool>* stop = nullptr);

}  // namespace shardfit::cli
