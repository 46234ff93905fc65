// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"

namespace shardfit::cli {

// Reading of single flag values. All throw InputError with the flag's name as pointer.

/// "a:b:c" -> {"a", "b", "c"}.
std::vector<std::string> pieces(std::string_view text, char separator);

/// "one of a, b, c".
std::string one_of(const std::vector<std::string_view>& names);

/// A whole number of at least `least`.
int whole_number(const std::string& flag, const std::string& text, int least = 1);

/// A number in [0, 1].
double fraction(const std::string& flag, const std::string& text);

/// true, false, yes, no, on, off, 1, 0.
bool truth(const std::string& flag, const std::string& text);

[[noreturn]] void unknown_word(const std::string& flag, const std::string& text, const std::vector<std::string_view>& names);

/// An enumerator by its name, with "did you mean".
template <class E>
E word_of(const std::string& flag, const std::string& text) {
  if (const auto e = parse_name<E>(text)) return *e;
  unknown_word(flag, text, all_names<E>());
}

/// A set: "a+b"; "none" is the empty one.
template <class E>
EnumSet<E> words_of_set(const std::string& flag, const std::string& text, char separator = '+') {
  EnumSet<E> set;
  if (text == "none" || text.empty()) return set;
  for (const std::string& word : pieces(text, separator)) set.insert(word_of<E>(flag, word));
  return set;
}

}  // namespace shardfit::cli
