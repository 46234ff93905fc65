// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

namespace shardfit::cli {
namespace {

class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    return (footer.empty() ? "" : footer + "\n\n") + CLI::Formatter::make_description(app);
  }
  std::string make_footer(const CLI::App* app) const override { return app->get_parent() ? "" : kManners; }

 private:
  static constexpr const char* kManners =
      "\nEvery command: --format table|csv|json, -o FILE, --help. Colour only on a terminal; NO_COLOR is honoured.\n"
      "Exit codes: 0 done or fits, 1 does not fit, 2 bad input, 3 internal error, 130 interrupted.\n";
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  auto formatter = std::make_shared<ExamplesFirst>();
  formatter->column_width(34);
  return formatter;
}

std::string examples(const std::string& lines) {
  std::string text = "Examples:\n  ";
  for (char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

}  // namespace shardfit::cli
