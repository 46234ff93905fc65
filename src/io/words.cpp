// SPDX-License-Identifier: Apache-2.0
#include "io/words.hpp"

#include <charconv>
#include <limits>

namespace shardfit::io {

std::string one_of(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names) text += (text.empty() ? "one of " : ", ") + std::string(name);
  return text;
}

int whole_number(const Where& at, const std::string& text, int least) {
  int n = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error == std::errc::result_out_of_range && stop == end && text.front() != '-')
    throw InputError(at.file, at.pointer, at.quoted(text),
                     "a whole number of at most " + std::to_string(std::numeric_limits<int>::max()));
  if (error != std::errc{} || stop != end || n < least)
    throw InputError(at.file, at.pointer, at.quoted(text), "a whole number of at least " + std::to_string(least));
  return n;
}

double fraction(const Where& at, const std::string& text) {
  double x = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc{} || stop != end || !(x >= 0 && x <= 1))
    throw InputError(at.file, at.pointer, at.quoted(text), "a number from 0 to 1");
  return x;
}

bool truth(const Where& at, const std::string& text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  throw InputError(at.file, at.pointer, at.quoted(text), "true or false");
}

void unknown_word(const Where& at, const std::string& text, const std::vector<std::string_view>& names) {
  const auto near = nearest_name(text, names);
  throw InputError(at.file, at.pointer, at.quoted(text), one_of(names), near ? "did you mean " + *near + "?" : "");
}

}  // namespace shardfit::io
