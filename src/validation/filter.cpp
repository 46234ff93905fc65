// SPDX-License-Identifier: Apache-2.0
#include "validation/filter.hpp"

#include <cstdlib>

#include "shardfit/base/error.hpp"
#include "shardfit/base/units.hpp"

namespace shardfit::validation {
namespace {

double number_with_unit(const std::string& text, const std::string& whole) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str()) throw InputError("", "--where", "'" + whole + "'", "a number after < or >");
  if (unit.empty()) return v;
  if (unit == "GiB") return v * double(kGiB);
  if (unit == "MiB") return v * double(kMiB);
  if (unit == "GB") return v * kGB;
  throw InputError("", "--where", "'" + whole + "'", "a unit of GiB, MiB or GB");
}

std::string full_name(const std::string& key) {
  if (key == "static") return "static_allocated_bytes";
  if (key == "peak") return "peak_allocated_bytes";
  return key;
}

}  // namespace

Filter::Filter(const std::string& text) {
  const std::size_t at = text.find_first_of("=<>!");
  key_ = full_name(text.substr(0, at));
  if (key_.empty()) throw InputError("", "--where", "'" + text + "'", "key=value, key>number or a flag such as tuned");
  if (at == std::string::npos) {
    value_ = "true";
    return;
  }
  operation_ = text[at];
  std::size_t value_at = at + 1;
  if (operation_ == '!') {
    if (value_at >= text.size() || text[value_at] != '=')
      throw InputError("", "--where", "'" + text + "'", "!= between key and value");
    ++value_at;
  }
  value_ = text.substr(value_at);
  if (operation_ == '<' || operation_ == '>') number_ = number_with_unit(value_, text);
}

bool Filter::accepts(const MeasuredRun& run) const {
  const auto field = run.fields.find(key_);
  if (operation_ == '=' || operation_ == '!') {
    const bool equal = field != run.fields.end() && field->second == value_;
    return operation_ == '=' ? equal : field != run.fields.end() && !equal;
  }
  const auto quantity = run.quantities.find(key_);
  double v = 0;
  if (quantity != run.quantities.end()) {
    v = quantity->second;
  } else {
    if (field == run.fields.end()) return false;
    char* end = nullptr;
    v = std::strtod(field->second.c_str(), &end);
    if (end == field->second.c_str()) return false;
  }
  return operation_ == '<' ? v < number_ : v > number_;
}

}  // namespace shardfit::validation
