// SPDX-License-Identifier: Apache-2.0
#include "report/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace shardfit::report {
namespace {

/// A unit is right for a column if its largest value has at least one digit before the point.
struct Scale {
  const char* name;
  double per_unit;
  int digits;
};
constexpr std::array<Scale, 4> kByteScales = {
    {{"GiB", double(kGiB), 2}, {"MiB", double(kMiB), 1}, {"KiB", double(kKiB), 1}, {"B", 1, 0}}};
constexpr std::array<Scale, 3> kTimeScales = {{{"s", 1, 3}, {"ms", 1e-3, 2}, {"us", 1e-6, 1}}};

/// Columns of nothing but zeros read best in the largest unit.
template <std::size_t N>
PrintUnit choose(const std::array<Scale, N>& scales, double largest) {
  const Scale* best = &scales.front();
  if (largest > 0) {
    best = &scales.back();
    for (const Scale& scale : scales)
      if (largest >= scale.per_unit) {
        best = &scale;
        break;
      }
  }
  return {best->name, best->per_unit, best->digits};
}

/// Puts commas between groups of three digits of the whole part; `text` is a plain decimal number.
std::string with_commas(std::string text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t end = text.find('.');
  if (end == std::string::npos) end = text.size();
  for (std::size_t at = end; at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

}  // namespace

PrintUnit print_unit(const Column& column, double largest) {
  switch (column.kind) {
    case ColumnKind::bytes: return choose(kByteScales, largest);
    case ColumnKind::seconds: return choose(kTimeScales, largest);
    case ColumnKind::ratio: return {"%", 0.01, column.digits};
    default: return {"", 1, column.digits};
  }
}

double magnitude(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return std::abs(double(*n));
  if (const auto* n = std::get_if<double>(&cell)) return std::abs(*n);
  if (const auto* n = std::get_if<Bytes>(&cell)) return std::abs(double(n->value));
  if (const auto* n = std::get_if<Seconds>(&cell)) return std::abs(n->value);
  return 0;
}

std::string grouped(std::int64_t n) { return with_commas(fmt::format("{}", n)); }

std::string grouped(double n, int digits) {
  if (!std::isfinite(n)) return "-";
  const std::string text = fmt::format("{:.{}f}", n, digits);
  // "-0.00" would claim a sign that the digits do not show.
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return with_commas(zero && text.starts_with('-') ? text.substr(1) : text);
}

std::string cell_text(const Cell& cell, const PrintUnit& unit) {
  struct Printer {
    const PrintUnit& unit;
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
    std::string operator()(std::int64_t n) const { return grouped(n); }
    std::string operator()(double n) const { return grouped(n / unit.per_unit, unit.digits); }
    std::string operator()(Bytes b) const { return grouped(double(b.value) / unit.per_unit, unit.digits); }
    std::string operator()(Seconds s) const { return grouped(s.value / unit.per_unit, unit.digits); }
  };
  return std::visit(Printer{unit}, cell);
}

std::string with_unit(const Column& column, const Cell& cell) {
  const PrintUnit unit = print_unit(column, magnitude(cell));
  const std::string text = cell_text(cell, unit);
  return unit.name.empty() || std::holds_alternative<std::monostate>(cell) ? text : text + " " + unit.name;
}

std::string with_unit(Bytes bytes) { return with_unit(Column{"", "", ColumnKind::bytes}, bytes); }
std::string with_unit(Seconds seconds) { return with_unit(Column{"", "", ColumnKind::seconds}, seconds); }

std::string percent(double ratio, int digits) { return with_unit(Column{"", "", ColumnKind::ratio, digits}, ratio); }

}  // namespace shardfit::report
