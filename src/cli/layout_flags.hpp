// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shardfit/spec/scenario.hpp"

namespace CLI {
class App;
}

namespace shardfit::cli {

/// One field of a layout as a flag.
struct LayoutFlag {
  const char* flag;  ///< "--tp"
  const char* type;  ///< what --help shows behind it
  const char* help;
  /// Sets the field from one word; throws InputError.
  void (*set)(Layout&, const std::string& word);
  /// Sets the search axis from the layouts that the words make; null if the field is no axis.
  void (*narrow)(SearchSpace&, std::span<const Layout>);
  /// The words of the values that the axis has; null if the field is no axis.
  std::vector<std::string> (*values)(const SearchSpace&);
  /// The word that the layout's field has; null if the field is neither an axis nor a switch worth trying.
  std::string (*current)(const Layout&);
};

/// "micro-batch-size" of "--micro-batch-size,--mbs".
std::string field_name(const LayoutFlag& flag);

/// All of them, in the order of --help.
std::span<const LayoutFlag> layout_flags();

/// What the command line says about the layout. Words are in the order of `layout_flags()`; empty: not given.
struct LayoutChoice {
  std::string id;                              ///< --layout
  std::deque<std::vector<std::string>> words;  ///< a deque, so that the parser may hold on to elements
  bool any() const;
};

/// Adds the flags of all fields, and --layout if `with_id`.
void add_layout_flags(CLI::App& command, LayoutChoice& choice, bool with_id);

/// The scenario with its search narrowed to the words given: several words are several values of an axis.
/// Throws InputError for a word that cannot be read, and for several values of a field that is no axis.
Scenario narrowed(Scenario scenario, const LayoutChoice& choice);

/// `layout` with one field changed, and with it what hangs on the field: sequence parallelism comes and goes with tensor
/// parallelism, delayed weight gradients with expert overlap, as in the layouts of a search.
Layout with_field(const LayoutFlag& flag, const std::string& word, const Scenario& scenario, Layout layout);

/// `layout` with the fields that the flags name. Throws InputError for a flag with several values.
Layout changed_layout(Layout layout, const LayoutChoice& choice, const Scenario& scenario, const std::string& command);

/// One layout of the scenario: a fixed layout, an id, or flags. Where flags leave axes open, the first value of each is
/// taken and `assumed` says so. Throws InputError if the search is open and nothing was given; `file` is the scenario as
/// the user named it.
struct ChosenLayout {
  Layout layout;
  std::string assumed;  ///< a warning; empty: nothing was assumed
  std::string dropped;  ///< a warning: a flag that the layout cannot have; empty: none
};
ChosenLayout choose_layout(const Scenario& scenario, const LayoutChoice& choice, const std::string& command,
                           const std::string& file);

}  // namespace shardfit::cli
