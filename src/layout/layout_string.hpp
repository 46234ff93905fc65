// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace shardfit::layout {

/// Why a pipeline layout string cannot be read.
enum class LayoutStringFault {
  none,
  unknown_character,
  open_parenthesis,
  stray_parenthesis,
  stray_star,
  missing_count,
  too_long
};

/// Longest expansion read, in symbols; real strings have a few hundred. (assumed: guards against "t*999999999")
inline constexpr std::int64_t kMaxLayoutSymbols = 100'000;

/// Reads Megatron's pipeline_model_parallel_layout one symbol at a time, repeats written out, without building it:
/// `sink(char)` sees E, t, m, L and '|'. `x*n` repeats the symbol before it, `(...)*n` the bracket; brackets nest;
/// commas are decoration. Source: Megatron-LM core/transformer/pipeline_parallel_layer_layout.py:parse_str_to_list
/// (which reads one level of brackets; deeper ones are read here in the obvious way).
template <class Sink>
class LayoutStringReader {
 public:
  LayoutStringReader(std::string_view text, Sink& sink) : text_(text), sink_(sink) {}

  LayoutStringFault read() {
    std::size_t at = 0;
    const LayoutStringFault fault = sequence(at, true);
    if (fault != LayoutStringFault::none) return fault;
    return at == text_.size() ? LayoutStringFault::none : LayoutStringFault::stray_parenthesis;
  }

 private:
  using Fault = LayoutStringFault;

  static bool is_symbol(char c) { return c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  /// Reads up to the end of the text or a closing bracket; `emit` false: only skips.
  Fault sequence(std::size_t& at, bool emit) {
    while (at < text_.size() && text_[at] != ')') {
      if (text_[at] == ',') {
        ++at;
        continue;
      }
      const Fault fault = item(at, emit);
      if (fault != Fault::none) return fault;
    }
    return Fault::none;
  }

  Fault item(std::size_t& at, bool emit) {
    const std::size_t begin = at;
    Fault fault = text_[at] == '(' ? bracket(at, false) : symbol(at);
    if (fault != Fault::none) return fault;
    std::int64_t times = 1;
    std::size_t end = at;
    fault = count(end, times);
    if (fault != Fault::none) return fault;
    for (std::int64_t i = 0; emit && i < times; ++i) {
      at = begin;
      if (++emitted_ > kMaxLayoutSymbols) return Fault::too_long;  // rounds of an empty bracket count too
      if (text_[at] == '(') {
        fault = bracket(at, true);
      } else {
        sink_(text_[at]);
      }
      if (fault != Fault::none) return fault;
    }
    at = end;
    return Fault::none;
  }

  Fault symbol(std::size_t& at) const {
    const char c = text_[at];
    if (c == '*') return Fault::stray_star;
    if (!is_symbol(c)) return Fault::unknown_character;
    ++at;
    return Fault::none;
  }

  Fault bracket(std::size_t& at, bool emit) {
    ++at;
    const Fault fault = sequence(at, emit);
    if (fault != Fault::none) return fault;
    if (at == text_.size()) return Fault::open_parenthesis;
    ++at;
    return Fault::none;
  }

  /// An optional "*n" after an item.
  Fault count(std::size_t& at, std::int64_t& times) const {
    if (at == text_.size() || text_[at] != '*') return Fault::none;
    if (++at == text_.size() || !is_digit(text_[at])) return Fault::missing_count;
    for (times = 0; at < text_.size() && is_digit(text_[at]); ++at) {
      times = times * 10 + (text_[at] - '0');
      if (times > kMaxLayoutSymbols) return Fault::too_long;
    }
    return Fault::none;
  }

  std::string_view text_;
  Sink& sink_;
  std::int64_t emitted_ = 0;
};

template <class Sink>
LayoutStringFault read_layout_string(std::string_view text, Sink&& sink) {
  return LayoutStringReader<std::remove_reference_t<Sink>>(text, sink).read();
}

/// The fault in words.
std::string_view words(LayoutStringFault fault);

}  // namespace shardfit::layout
