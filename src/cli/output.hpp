// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "report/atomic_file.hpp"
#include "shardfit/report/render.hpp"

namespace shardfit::cli {

/// The flags that every command has.
struct OutputFlags {
  std::string format;                 ///< empty: by the ending of `file`, else table
  std::string file;                   ///< empty: stdout
  std::vector<std::string> sections;  ///< empty: all
  std::vector<std::string> extra;     ///< formats of this command alone ("dot"), which it writes itself
};

/// Adds --format, -o and --section. `extra_formats`: more names for --format than the three ("dot"); the command writes
/// those itself.
void add_output_flags(CLI::App& command, OutputFlags& flags, std::vector<std::string> extra_formats = {});

/// The format that the flags ask for. Throws InputError for a name that is none.
Format format_of(const OutputFlags& flags);

/// Where a document will go: opened before the work starts, so that a path that cannot be written fails at once.
class Output {
 public:
  explicit Output(const OutputFlags& flags);

  /// Writes the document as the flags ask for.
  void write(Document document, Context& context);
  /// Writes text as it is (Graphviz, Markdown). Throws InputError where --section asks for a part: text has none.
  void write_text(const std::string& text, Context& context);

 private:
  OutputFlags flags_;
  Format format_;
  std::optional<AtomicFile> file_;
};

}  // namespace shardfit::cli
