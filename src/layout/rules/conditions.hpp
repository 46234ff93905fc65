// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace shardfit::layout {

/// What becomes of a condition: checked by rules; cannot be broken, since no layout can say the wrong thing; taken as
/// met, since it is about a setting that changes no layout, byte or second and that runs do not state; or left out.
enum class Standing { checked, by_form, assumed, out };

/// A validity condition known of the stacks.
struct Condition {
  std::string_view section, name;
  /// Codes of the rules and alterations that hold it, separated by spaces; empty: none.
  std::string_view codes;
  /// Why nothing has to check it, or why it is out; may be empty where `codes` says all.
  std::string_view note;
  Standing standing = Standing::checked;
};

std::span<const Condition> conditions();

}  // namespace shardfit::layout
