// SPDX-License-Identifier: Apache-2.0
#include "io/reader.hpp"

#include <fmt/format.h>

#include <cmath>

namespace shardfit::io {
namespace {

constexpr std::size_t kQuotedLength = 60;  ///< longer values are cut in messages

/// RFC 6901: "~" and "/" inside a key are escaped.
std::string escaped(std::string_view key) {
  std::string text;
  for (char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view w : words) text += (text.empty() ? "" : ", ") + std::string(w);
  return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& words) {
  const auto near = nearest_name(word, words);
  return near ? "did you mean \"" + *near + "\"?" : "";
}

/// T is int or double: a whole number is told to its last digit.
template <class T>
std::string range_text(const char* kind, T least, T most, bool bounded) {
  return bounded ? fmt::format("{} from {} to {}", kind, least, most) : fmt::format("{} of at least {}", kind, least);
}

const Json& no_fields() {
  static const Json empty = Json::object();
  return empty;
}

}  // namespace

Place Place::down(std::string_view key) const { return {file, pointer + "/" + escaped(key)}; }
Place Place::down(std::size_t index) const { return {file, pointer + "/" + std::to_string(index)}; }

std::string Value::quoted() const {
  if (json_->is_object()) return "an object";
  if (json_->is_array()) return "a list";
  std::string text = json_->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kQuotedLength) text = text.substr(0, kQuotedLength) + "...";
  return text;
}

void Value::refuse(const std::string& expected, const std::string& hint) const {
  throw InputError(place_.file, place_.pointer, quoted(), expected, hint);
}

void Value::refuse_word(const std::string& text, const std::vector<std::string_view>& words) const {
  refuse("one of " + joined(words), did_you_mean(text, words));
}

int Value::as_int(int least, int most) const {
  const std::string expected = range_text("a whole number", least, most, most != kMaxCount);
  if (!json_->is_number()) refuse(expected);
  const double number = json_->get<double>();
  if (!std::isfinite(number) || number != std::floor(number) || number < least || number > most) refuse(expected);
  return int(number);
}

std::int64_t Value::as_int64(std::int64_t least) const {
  constexpr double kExact = 9007199254740992.0;  // 2^53: every whole number up to it is exact as a double
  const std::string expected = fmt::format("a whole number of at least {}", least);
  if (!json_->is_number()) refuse(expected);
  const double number = json_->get<double>();
  if (!std::isfinite(number) || number != std::floor(number) || number < double(least) || number > kExact) refuse(expected);
  return std::int64_t(number);
}

double Value::as_number(double least, double most) const {
  const bool bounded = most != std::numeric_limits<double>::max();
  const std::string expected = range_text("a number", least, most, bounded);
  if (!json_->is_number()) refuse(expected);
  const double number = json_->get<double>();
  if (!std::isfinite(number) || number < least || number > most) refuse(expected);
  return number;
}

bool Value::as_bool() const {
  if (!json_->is_boolean()) refuse("true or false");
  return json_->get<bool>();
}

std::string Value::as_text() const {
  if (!json_->is_string()) refuse("a text");
  return json_->get<std::string>();
}

std::vector<Value> Value::as_list() const {
  if (!json_->is_array()) refuse("a list");
  std::vector<Value> values;
  values.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i) values.emplace_back((*json_)[i], place_.down(i));
  return values;
}

std::vector<std::string> Value::as_texts() const {
  std::vector<std::string> texts;
  for (const Value& v : as_list()) texts.push_back(v.as_text());
  return texts;
}

std::vector<int> Value::as_ints(int least, int most) const {
  std::vector<int> numbers;
  for (const Value& v : as_list()) numbers.push_back(v.as_int(least, most));
  return numbers;
}

Object::Object(const Value& value) : json_(&value.json()), place_(value.place()) {
  if (!value.is_object()) value.refuse("an object");
}

Object Object::empty(Place place) { return Object(no_fields(), std::move(place)); }

bool Object::has(const std::string& key) const { return json_->contains(key) || (over_ != nullptr && over_->has(key)); }

std::optional<Value> Object::find(const std::string& key) {
  known_.insert(key);
  if (over_ != nullptr)
    if (auto v = over_->find(key)) return v;
  const auto it = json_->find(key);
  if (it == json_->end() || it->is_null()) return std::nullopt;
  return Value(*it, place_.down(key));
}

Value Object::at(const std::string& key) {
  if (auto v = find(key)) return *v;
  // A key that nobody has asked for and that nearly spells this one is what the user meant to write.
  std::vector<std::string_view> strangers;
  for (const auto& [name, value] : json_->items())
    if (!known_.contains(name)) strangers.push_back(name);
  const auto slip = nearest_name(key, strangers);
  throw InputError(place_.file, place_.down(key).pointer, "nothing", "a value for \"" + key + "\"",
                   slip ? "is \"" + *slip + "\" a slip of it?" : "");
}

int Object::get(const std::string& key, int otherwise, int least, int most) {
  const auto v = find(key);
  return v ? v->as_int(least, most) : otherwise;
}

double Object::get(const std::string& key, double otherwise, double least, double most) {
  const auto v = find(key);
  return v ? v->as_number(least, most) : otherwise;
}

bool Object::get(const std::string& key, bool otherwise) {
  const auto v = find(key);
  return v ? v->as_bool() : otherwise;
}

std::string Object::get(const std::string& key, const std::string& otherwise) {
  const auto v = find(key);
  return v ? v->as_text() : otherwise;
}

std::optional<int> Object::find_int(const std::string& key, int least, int most) {
  const auto v = find(key);
  if (!v) return std::nullopt;
  return v->as_int(least, most);
}

std::vector<std::string> Object::keys() const {
  std::vector<std::string> keys;
  for (const auto& item : json_->items()) keys.push_back(item.key());
  return keys;
}

std::vector<std::string> Object::unasked() const {
  std::vector<std::string> out;
  for (const auto& item : json_->items())
    if (!known_.contains(item.key())) out.push_back(item.key());
  return out;
}

void Object::done() const {
  for (const auto& item : json_->items()) {
    if (known_.contains(item.key())) continue;
    const std::vector<std::string_view> words(known_.begin(), known_.end());
    throw InputError(place_.file, place_.down(item.key()).pointer, "unknown key \"" + item.key() + "\"",
                     "one of " + joined(words), did_you_mean(item.key(), words));
  }
}

}  // namespace shardfit::io
