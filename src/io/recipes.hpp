// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

// What published recipes set beside what tables of their results say: recipes/*.json, each entry with its source.

namespace shardfit::io {

/// Fields of a run's blocks that a published recipe sets together, and for which runs. Variants of a recipe are told apart by
/// fields of the run wherever it has such.
struct RecipeSetting {
  std::vector<std::string> models, hardware;  ///< names; empty: any
  std::string runs;                           ///< word of the source of the runs that it is about; empty: any
  std::string precision;
  std::vector<int> gpus;  ///< sizes of run; empty: any
  Json where;             ///< fields of a run: one that states other values is not of the recipe
  std::string from, to;   ///< days (YYYY-MM-DD): from this one, before that one; empty: no limit
  bool undated = false;   ///< with days: also about runs that state no day
  Json blocks;            ///< the fields by block: training, layout, stack; those it sets any of
  std::string source;     ///< commit and file
  std::string file;       ///< of recipes/ it is from
};

/// Every entry of recipes/*.json, in the order of the files. Throws InputError.
std::vector<RecipeSetting> load_recipes();

/// What an entry sets, and what a run that it is about may not state otherwise, in words: "layout.sharding full".
std::string settings_text(const RecipeSetting& setting);
std::string where_text(const RecipeSetting& setting);

/// A run as far as recipes ask. `date`: a day or a month; empty: none is known, which no dated entry fits. `source`: where a
/// measured one is from.
struct RecipeUse {
  std::string model, hardware, precision, date;
  int gpus = 0;
  Json stated = {};  ///< the run as written, for `where`
  std::string source = {};
};
/// Whether an entry is about a run.
bool concerns(const RecipeSetting& setting, const RecipeUse& run);

/// Fills the entries that are about `use` into the blocks of `run`, whole or not at all: an entry of which the run states
/// a field is left alone. Says in words what was filled in.
std::vector<std::string> fill_from_recipes(const std::vector<RecipeSetting>& settings, const RecipeUse& use, Json& run);

/// For a run that states none of an entry's fields: what the published recipe sets and it does not.
std::vector<std::string> recipe_hints(const std::vector<RecipeSetting>& settings, const RecipeUse& use, const Json& run);

}  // namespace shardfit::io
