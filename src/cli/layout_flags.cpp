// SPDX-License-Identifier: Apache-2.0
#include "cli/layout_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help.hpp"
#include "io/words.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::cli {
namespace {

/// "--micro-batch-size" of "--micro-batch-size,--mbs".
std::string long_name(const LayoutFlag& flag) { return pieces(flag.flag, ',').front(); }

bool is_open(const LayoutFlag& flag, const SearchSpace& space) { return flag.values && flag.values(space).size() > 1; }

/// Layout strings hold commas of their own, so only the other flags take lists with commas.
bool takes_lists(const LayoutFlag& flag) { return flag.narrow && std::string_view(flag.flag) != "--pipeline-split"; }

void apply(const LayoutFlag& flag, const std::vector<std::string>& words, Scenario& scenario) {
  std::vector<Layout> layouts;
  for (auto at = words.begin(); at != words.end(); ++at) {
    const std::string& word = *at;
    if (std::find(words.begin(), at, word) != at) throw InputError("", long_name(flag), word + " twice", "each value once");
    layouts.push_back(scenario.base);
    flag.set(layouts.back(), word);
  }
  scenario.base = layouts.front();
  // Wins over what the scenario states, at whatever tp the other flags and the search give.
  if (long_name(flag) == "--sequence-parallel") scenario.sequence_parallel_above_tp_1 = scenario.base.sequence_parallel;
  const bool overlaps = std::any_of(layouts.begin(), layouts.end(), [](const Layout& l) { return l.overlap.expert_alltoall; });
  if (long_name(flag) == "--expert-overlap" && !overlaps) scenario.base.overlap.delay_wgrad = false;  // goes with it
  if (flag.narrow) return flag.narrow(scenario.space, layouts);
  if (words.size() > 1)
    throw InputError("", long_name(flag), std::to_string(words.size()) + " values", "one value: it is no axis of the search");
}

/// Words for the axes that are still open: "--tp 2 --pp 4".
std::string example_of(const SearchSpace& space) {
  std::string text;
  for (const LayoutFlag& flag : layout_flags())
    if (is_open(flag, space)) text += " " + long_name(flag) + " " + flag.values(space).front();
  return text;
}

[[noreturn]] void nothing_chosen(const Scenario& scenario, const std::string& command, const std::string& file) {
  std::string open;
  for (const LayoutFlag& flag : layout_flags())
    if (is_open(flag, scenario.space)) open += (open.empty() ? "" : ", ") + field_name(flag);
  throw InputError(
      file, "/search", std::to_string(space_size(scenario.space)) + " layouts (open: " + open + ")",
      "one layout for `" + command + "`",
      "give --layout ID from a sweep's CSV, or flags: shardfit " + command + " " + file + example_of(scenario.space));
}

/// Commands that look at one layout take one word a flag.
void refuse_lists(const LayoutChoice& choice, const std::string& command) {
  for (std::size_t i = 0; i < choice.words.size(); ++i)
    if (choice.words[i].size() > 1)
      throw InputError("", long_name(layout_flags()[i]), std::to_string(choice.words[i].size()) + " values",
                       "one value for `" + command + "`", "`sweep` takes lists");
}

/// Sequence parallelism that was asked for beside tp 1, in words: no layout there has it.
std::string asked_without_tp(const LayoutChoice& choice, int tp) {
  if (tp > 1) return "";
  for (std::size_t i = 0; i < choice.words.size(); ++i) {
    const LayoutFlag& flag = layout_flags()[i];
    if (choice.words[i].empty() || long_name(flag) != "--sequence-parallel") continue;
    Layout asked;
    flag.set(asked, choice.words[i].front());
    if (asked.sequence_parallel) return "--sequence-parallel true does nothing at tp 1, where Megatron turns it off";
  }
  return "";
}

}  // namespace

std::string field_name(const LayoutFlag& flag) { return long_name(flag).substr(2); }

bool LayoutChoice::any() const {
  return !id.empty() || std::any_of(words.begin(), words.end(), [](const auto& w) { return !w.empty(); });
}

void add_layout_flags(CLI::App& command, LayoutChoice& choice, bool with_id) {
  if (with_id)
    command.add_option("--layout", choice.id, "A layout_id from a sweep's CSV; other flags change it")
        ->type_name("ID")
        ->check(some_text());
  for (const LayoutFlag& flag : layout_flags()) {
    CLI::Option* option = command.add_option(flag.flag, choice.words.emplace_back(), flag.help);
    option->group("Layout")->type_name(!with_id && takes_lists(flag) ? std::string(flag.type) + ",..." : flag.type);
    if (takes_lists(flag)) option->delimiter(',');
    option->allow_extra_args(false);
  }
}

Scenario narrowed(Scenario scenario, const LayoutChoice& choice) {
  for (std::size_t i = 0; i < choice.words.size(); ++i)
    if (!choice.words[i].empty()) apply(layout_flags()[i], choice.words[i], scenario);
  const std::vector<int>& tp = scenario.space.tp;
  const int largest = tp.empty() ? scenario.base.tp : *std::max_element(tp.begin(), tp.end());
  if (std::string dropped = asked_without_tp(choice, largest); !dropped.empty())
    scenario.assumptions.push_back(std::move(dropped));
  return scenario;
}

ChosenLayout choose_layout(const Scenario& scenario, const LayoutChoice& choice, const std::string& command,
                           const std::string& file) {
  refuse_lists(choice, command);
  if (!choice.id.empty()) return {changed_layout(parse_layout_id(choice.id), choice, scenario, command), {}, {}};
  Scenario fixed = narrowed(scenario, choice);
  if (space_size(fixed.space) != 1 && !choice.any()) nothing_chosen(scenario, command, file);
  ChosenLayout chosen;
  for (const LayoutFlag& flag : layout_flags()) {
    if (!is_open(flag, fixed.space)) continue;
    const std::string first = flag.values(fixed.space).front();
    chosen.assumed += (chosen.assumed.empty() ? "not given, so the first of the search: " : ", ") + long_name(flag) + " " +
                      first;
    apply(flag, {first}, fixed);
  }
  chosen.layout = layout_at(fixed, 0);
  chosen.dropped = asked_without_tp(choice, chosen.layout.tp);
  return chosen;
}

Layout changed_layout(Layout layout, const LayoutChoice& choice, const Scenario& scenario, const std::string& command) {
  refuse_lists(choice, command);
  for (std::size_t i = 0; i < choice.words.size(); ++i)
    if (!choice.words[i].empty()) layout = with_field(layout_flags()[i], choice.words[i].front(), scenario, std::move(layout));
  return layout;
}

Layout with_field(const LayoutFlag& flag, const std::string& word, const Scenario& scenario, Layout layout) {
  const Layout before = layout;
  flag.set(layout, word);
  if (layout.tp != before.tp) layout.sequence_parallel = scenario.sequence_parallel_above_tp_1 && layout.tp > 1;
  if (layout.overlap.expert_alltoall != before.overlap.expert_alltoall)
    layout.overlap.delay_wgrad = scenario.base.overlap.delay_wgrad && layout.overlap.expert_alltoall;
  return layout;
}

}  // namespace shardfit::cli
