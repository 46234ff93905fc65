// SPDX-License-Identifier: Apache-2.0
#include "validation/filter.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>

#include "shardfit/base/names.hpp"
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

std::string did_you_mean(const std::string& word, const std::set<std::string_view>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto near = nearest_name(word, names);
  return near ? "did you mean \"" + *near + "\"?" : "";
}

/// "a, b, c, ...": the first few.
std::string some_of(const std::set<std::string_view>& values) {
  constexpr std::size_t kNamed = 6;
  std::string text;
  std::size_t n = 0;
  for (const std::string_view value : values) {
    if (n++ == kNamed) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::string(value);
  }
  return text;
}

}  // namespace

Filter::Filter(const std::string& text) : text_(text) {
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

InputError Filter::nothing_accepted(const std::vector<MeasuredRun>& runs) const {
  std::set<std::string_view> keys, values;
  for (const MeasuredRun& run : runs)
    for (const auto& [key, value] : run.fields) {
      keys.insert(key);
      if (key == key_) values.insert(value);
    }
  const std::string got = "'" + text_ + "'";
  if (values.empty())
    return InputError("", "--where", got, "a field that a run has, by its dotted path (layout.tp) or its last word (tp)",
                      did_you_mean(key_, keys));
  return InputError("", "--where", got, "a value that a run has: " + key_ + " is " + some_of(values),
                    did_you_mean(value_, values));
}

std::vector<MeasuredRun> selected(std::vector<MeasuredRun> runs, const std::vector<Filter>& filters) {
  for (const Filter& filter : filters)
    if (std::none_of(runs.begin(), runs.end(), [&](const MeasuredRun& run) { return filter.accepts(run); }))
      throw filter.nothing_accepted(runs);
  std::vector<MeasuredRun> kept;
  std::copy_if(std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()), std::back_inserter(kept),
               [&](const MeasuredRun& run) {
                 return std::all_of(filters.begin(), filters.end(), [&](const Filter& f) { return f.accepts(run); });
               });
  if (kept.empty())
    throw InputError("", "--where", "no run", "one that meets all conditions together", "each is met by some run alone");
  return kept;
}

}  // namespace shardfit::validation
