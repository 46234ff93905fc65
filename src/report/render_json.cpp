// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "shardfit/estimate/estimate.hpp"
#include "shardfit/report/render.hpp"

namespace shardfit {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
  struct Maker {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(double n) const { return std::isfinite(n) ? Json(n) : Json(nullptr); }
    Json operator()(Bytes b) const { return in_gib(b); }
    Json operator()(Seconds s) const { return (*this)(s.value); }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(bool flag) const { return flag; }
    Json operator()(std::int64_t n) const { return n; }
  };
  return std::visit(Maker{}, cell);
}

Json json_of(const Facts& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts)
    if (fact.column.shown != Shown::table_only) object[data_key(fact.column)] = json_of(fact.value);
  return object;
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    if (row.kind != RowKind::data) continue;
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].shown != Shown::table_only) object[data_key(table.columns[i])] = json_of(row.cells[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

Json json_of(const Verbatim& verbatim) { return verbatim.text; }

}  // namespace

void render_json(const Document& document, std::ostream& out) {
  Json root = Json::object();
  root["view"] = document.view;
  root["cost_model_version"] = kCostModelVersion;
  for (const Section& section : document.sections) {
    root[section.key] = std::visit([](const auto& body) { return json_of(body); }, section.body);
    if (!section.notes.empty()) root[section.key + "_notes"] = section.notes;
  }
  root["warnings"] = document.warnings;
  if (!document.summary.empty()) root["summary"] = document.summary;
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void render(const Document& document, Format format, std::ostream& out, bool colour) {
  switch (format) {
    case Format::csv: return render_csv(document, out);
    case Format::json: return render_json(document, out);
    default: return render_table(document, out, colour);
  }
}

}  // namespace shardfit
