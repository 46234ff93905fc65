// SPDX-License-Identifier: Apache-2.0
#include "layout/layout_string.hpp"

#include "shardfit/layout/stage_plan.hpp"

namespace shardfit {
namespace layout {

std::string_view words(LayoutStringFault fault) {
  switch (fault) {
    case LayoutStringFault::none: return "";
    case LayoutStringFault::unknown_character: return "only E, t, m, L, |, brackets, commas and *n are known";
    case LayoutStringFault::open_parenthesis: return "a bracket is not closed";
    case LayoutStringFault::stray_parenthesis: return "a bracket is closed that was not opened";
    case LayoutStringFault::stray_star: return "* needs a symbol or a bracket before it";
    case LayoutStringFault::missing_count: return "* needs a number after it";
    case LayoutStringFault::too_long: return "the layout is too long";
  }
  return "";
}

}  // namespace layout

std::optional<std::vector<std::string>> expand_layout_string(const std::string& text, std::string* why) {
  std::vector<std::string> chunks(1);
  const layout::LayoutStringFault fault = layout::read_layout_string(text, [&](char c) {
    if (c == '|') {
      chunks.emplace_back();
    } else {
      chunks.back() += c;
    }
  });
  if (fault == layout::LayoutStringFault::none) return chunks;
  if (why != nullptr) *why = layout::words(fault);
  return std::nullopt;
}

}  // namespace shardfit
