// SPDX-License-Identifier: Apache-2.0
#include "io/write_hardware.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace shardfit::io {
namespace {

std::string quoted(const std::string& text) { return nlohmann::ordered_json(text).dump(); }

}  // namespace

std::string hardware_overlay(const std::string& name, const std::string& base,
                             const std::vector<std::pair<std::string, Figure>>& figures) {
  nlohmann::ordered_json overlay{{"base", base}, {"name", name}};
  for (const auto& [pointer, figure] : figures)
    overlay[nlohmann::ordered_json::json_pointer(pointer)] = {
        {"value", figure.value}, {"kind", std::string(name_of(figure.kind))}, {"source", figure.source}};
  return overlay.dump(2) + "\n";
}

std::string coefficients_text(const TimeCoefficients& c) {
  std::string text = "{\n  \"source\": " + quoted(c.source) + ",\n  \"fit_quality\": " + quoted(c.fit_quality) +
                     ",\n  \"coefficients\": {";
  for (std::size_t i = 0; i < kCount<Coefficient>; ++i) {
    const FittedValue& v = c.values[Coefficient(i)];
    text += fmt::format(
        "{}\n    \"{}\": {{\"value\": {:.4g}, \"standard_error\": {:.3g}, \"low\": {:.4g}, \"high\": {:.4g}, "
        "\"meaning\": {}}}",
        i ? "," : "", name_of(Coefficient(i)), v.value, v.standard_error, v.low, v.high, quoted(v.meaning));
  }
  return text + "\n  }\n}\n";
}

}  // namespace shardfit::io
