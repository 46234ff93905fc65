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
  /// "N" and "REQUIRED", without the ranges and dots that the library adds; what a value may be is said in words.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0) {
      const std::string type = option->get_type_name();
      text = " " + type.substr(0, type.find(':'));
      if (!option->get_default_str().empty()) text += " (" + option->get_default_str() + ")";
    }
    return option->get_required() ? text + " REQUIRED" : text;
  }
  std::string make_footer(const CLI::App* app) const override { return app->get_parent() ? "" : kManners; }

 private:
  static constexpr const char* kManners =
      "Every command: --format table|csv|json, -o FILE, --help. Colour only on a terminal; NO_COLOR is honoured.\n"
      "Exit codes: 0 done or fits, 1 does not fit (sweep, compare, merge: no layout does), 2 bad input, 3 internal error,\n"
      "130 interrupted.\n";
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  auto formatter = std::make_shared<ExamplesFirst>();
  formatter->column_width(34);
  return formatter;
}

CLI::Validator some_text() {
  return CLI::Validator([](std::string& text) { return text.empty() ? std::string("got an empty text") : std::string(); }, "");
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
