// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/parse.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"

namespace shardfit::io {

/// Where a value stands: in which file, at which JSON pointer.
struct Place {
  std::string file, pointer;
  Place down(std::string_view key) const;
  Place down(std::size_t index) const;
};

/// Sizes and counts that a file may state: far above any real one, far below overflow of the sums made of
/// them.
inline constexpr int kMaxCount = 1 << 30;

/// A JSON value that knows its place. Getters check type and range, and throw InputError.
class Value {
 public:
  Value(const Json& json, Place place) : json_(&json), place_(std::move(place)) {}

  int as_int(int least, int most = kMaxCount) const;
  std::int64_t as_int64(std::int64_t least) const;
  double as_number(double least, double most = std::numeric_limits<double>::max()) const;
  bool as_bool() const;
  std::string as_text() const;
  std::vector<Value> as_list() const;
  std::vector<std::string> as_texts() const;
  std::vector<int> as_ints(int least, int most = kMaxCount) const;

  template <class E>
  E as_enum() const {
    const std::string text = as_text();
    if (const auto e = parse_name<E>(text)) return *e;
    refuse_word(text, all_names<E>());
  }
  template <class E>
  EnumSet<E> as_enum_set() const {
    EnumSet<E> set;
    for (const Value& v : as_list()) set.insert(v.as_enum<E>());
    return set;
  }

  bool is_null() const { return json_->is_null(); }
  bool is_object() const { return json_->is_object(); }
  bool is_list() const { return json_->is_array(); }
  bool is_text() const { return json_->is_string(); }
  bool is_bool() const { return json_->is_boolean(); }
  bool is_number() const { return json_->is_number(); }
  const Json& json() const { return *json_; }
  const Place& place() const { return place_; }

  /// The value as an error quotes it: JSON text, shortened.
  std::string quoted() const;
  [[noreturn]] void refuse(const std::string& expected, const std::string& hint = {}) const;
  [[noreturn]] void refuse_word(const std::string& text, const std::vector<std::string_view>& words) const;

 private:
  const Json* json_;
  Place place_;
};

/// A JSON object that must be used up: every key is asked for, or `done` names the ones that nobody knows. An
/// overlay (a run's `assumed` block) wins over the object's own fields.
class Object {
 public:
  explicit Object(const Value& value);
  /// An object with no fields, for blocks that a file may leave out.
  static Object empty(Place place);

  void overlay(Object& over) { over_ = &over; }

  /// The value of a key, or none where it is missing or null. Missing keys become known ones all the same.
  std::optional<Value> find(const std::string& key);
  /// Throws where the key is missing or null.
  Value at(const std::string& key);
  /// Present, if only as null.
  bool has(const std::string& key) const;

  int get(const std::string& key, int otherwise, int least, int most = kMaxCount);
  double get(const std::string& key, double otherwise, double least, double most = std::numeric_limits<double>::max());
  bool get(const std::string& key, bool otherwise);
  std::string get(const std::string& key, const std::string& otherwise);
  std::string get(const std::string& key, const char* otherwise) { return get(key, std::string(otherwise)); }
  template <class E>
  requires std::is_enum_v<E> E get(const std::string& key, E otherwise) {
    const auto v = find(key);
    return v ? v->template as_enum<E>() : otherwise;
  }
  std::optional<int> find_int(const std::string& key, int least, int most = kMaxCount);

  /// Keys that describe and compute nothing.
  void ignore(const std::string& key) { known_.insert(key); }
  /// Every key of the object, in file order; for maps of names.
  std::vector<std::string> keys() const;

  /// Keys that were never asked for, in file order.
  std::vector<std::string> unasked() const;

  /// Throws on the first key that was never asked for.
  void done() const;

  const Place& place() const { return place_; }

 private:
  Object(const Json& json, Place place) : json_(&json), place_(std::move(place)) {}
  const Json* json_;
  Place place_;
  std::set<std::string> known_;
  Object* over_ = nullptr;
};

}  // namespace shardfit::io
