// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/numbers.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {
namespace {

std::string number_with_name(std::int64_t n, std::string_view name) {
  return name.empty() ? report::grouped(n) : fmt::format("{} ({})", report::grouped(n), name);
}

}  // namespace

std::string numbers_text(const Violation& violation) {
  if (violation.rule < 0) return "";
  const RuleInfo& rule = rules()[std::size_t(violation.rule)];
  return fmt::format("got {}, need {}", number_with_name(violation.got, rule.got), number_with_name(violation.need, rule.need));
}

std::string violation_text(const Violation& violation) {
  if (violation.rule < 0) return "memory";
  return fmt::format("{}: {}", rules()[std::size_t(violation.rule)].code, numbers_text(violation));
}

std::string cure_text(const Cure& cure) {
  if (cure.values.empty()) return "";
  // Written as a file or a flag takes it.
  const auto word = [&](int value) {
    return cure.axis == "sequence_parallel" ? std::string(value ? "true" : "false") : fmt::format("{}", value);
  };
  std::string text = fmt::format("try {} = {}", cure.axis, word(cure.values.front()));
  for (std::size_t i = 1; i < cure.values.size(); ++i)
    text += (i + 1 == cure.values.size() ? " or " : ", ") + word(cure.values[i]);
  return text;
}

}  // namespace shardfit
