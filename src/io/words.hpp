// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/reader.hpp"
#include "shardfit/base/pieces.hpp"

namespace shardfit::io {

/// Where a word stands: at a JSON pointer of a file, or after a flag.
struct Where {
  Where(const Place& place) : file(place.file), pointer(place.pointer) {}
  Where(std::string flag) : pointer(std::move(flag)) {}
  Where(const char* flag) : pointer(flag) {}
  /// A word as an error shows it: as JSON has it, or in the quotes of a shell.
  std::string quoted(const std::string& word) const { return file.empty() ? "'" + word + "'" : '"' + word + '"'; }
  std::string file, pointer;
};

// Values that are written as one word, in files and after flags alike. All throw InputError, which says where.

/// "one of a, b, c".
std::string one_of(const std::vector<std::string_view>& names);

/// A whole number of at least `least`.
int whole_number(const Where& at, const std::string& text, int least = 1);

/// A number in [0, 1].
double fraction(const Where& at, const std::string& text);

/// true, false, yes, no, on, off, 1, 0.
bool truth(const Where& at, const std::string& text);

[[noreturn]] void unknown_word(const Where& at, const std::string& text, const std::vector<std::string_view>& names);

/// An enumerator by its name, with "did you mean".
template <class E>
E word_of(const Where& at, const std::string& text) {
  if (const auto e = parse_name<E>(text)) return *e;
  unknown_word(at, text, all_names<E>());
}

/// A set: "a+b"; "none" is the empty one.
template <class E>
EnumSet<E> words_of_set(const Where& at, const std::string& text, char separator = '+') {
  EnumSet<E> set;
  if (text == "none" || text.empty()) return set;
  for (const std::string& word : pieces(text, separator)) set.insert(word_of<E>(at, word));
  return set;
}

}  // namespace shardfit::io
