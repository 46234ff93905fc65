// SPDX-License-Identifier: Apache-2.0
#include "io/measured_kind.hpp"

#include <initializer_list>
#include <optional>

#include "io/reader.hpp"

namespace shardfit::io {
namespace {

struct KindWords {
  const char *is, *wanted, *mend;
};

constexpr KindWords kWords[] = {
    {"a file of measured runs", "a list of runs", "pass it as the file to validate"},
    {"a file of effects", "a list of effects", "pass it with --effects beside its runs"},
    {"a file of stated facts", "a list of facts", "pass it with --facts beside the runs"},
};

bool has_all(const Json& row, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (!row.contains(key)) return false;
  return true;
}

std::optional<MeasuredKind> kind_of(const Json& row) {
  if (!row.is_object()) return std::nullopt;
  if (row.contains("model")) return MeasuredKind::runs;
  if (has_all(row, {"a", "b"})) return MeasuredKind::effects;
  if (has_all(row, {"runs", "source"})) return MeasuredKind::facts;
  return std::nullopt;
}

}  // namespace

void require_kind(const Json& list, const std::string& path, MeasuredKind wanted) {
  const KindWords& want = kWords[int(wanted)];
  if (!list.is_array()) Value(list, {path, ""}).refuse(want.wanted);
  const auto kind = list.empty() ? std::nullopt : kind_of(list[0]);
  if (kind && *kind != wanted) throw InputError(path, "", kWords[int(*kind)].is, want.wanted, kWords[int(*kind)].mend);
}

}  // namespace shardfit::io
