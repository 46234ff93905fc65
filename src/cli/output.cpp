// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "cli/help.hpp"
#include "io/words.hpp"

namespace shardfit::cli {

void add_output_flags(CLI::App& command, OutputFlags& flags, std::vector<std::string> extra_formats) {
  std::string names = "table|csv|json";
  for (const std::string& name : extra_formats) names += "|" + name;
  flags.extra = std::move(extra_formats);
  command
      .add_option("--format", flags.format,
                  "How to write the result (default: table, or by the ending of -o). Keys of csv and json end in "
                  "their unit; of those without one, numbers are counts or fractions (0.43 is 43 %)")
      ->type_name(names);
  command.add_option("-o,--output", flags.file, "Write to FILE instead of stdout (-: stdout)")
      ->type_name("FILE")
      ->check(some_text());
  command.add_option("--section", flags.sections, "Only these parts of the result; one part as csv is a plain CSV file")
      ->type_name("NAME,...")
      ->delimiter(',');
}

namespace {

bool is_extra(const OutputFlags& flags) {
  return std::find(flags.extra.begin(), flags.extra.end(), flags.format) != flags.extra.end();
}

}  // namespace

Format format_of(const OutputFlags& flags) {
  if (!flags.format.empty()) return io::word_of<Format>("--format", flags.format);
  if (flags.file.ends_with(".json")) return Format::json;
  if (flags.file.ends_with(".csv")) return Format::csv;
  return Format::table;
}

Output::Output(const OutputFlags& flags) : flags_(flags), format_(is_extra(flags) ? Format::table : format_of(flags)) {
  if (!flags_.file.empty() && flags_.file != "-") file_.emplace(flags_.file);
}

void Output::write(Document document, Context& context) {
  const Document chosen = only_sections(std::move(document), flags_.sections);
  if (!file_) return render(chosen, format_, context.out, context.colour);
  render(chosen, format_, file_->stream());
  file_->commit();
}

void Output::write_text(const std::string& text, Context& context) {
  if (!flags_.sections.empty())
    throw InputError("", "--section", flags_.sections[0], "no section in this form of the result, which is written whole",
                     "--format table or csv");
  if (!file_) {
    context.out << text;
    return;
  }
  file_->stream() << text;
  file_->commit();
}

}  // namespace shardfit::cli
