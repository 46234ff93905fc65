// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "sample.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using sample::rendered;

namespace {

Document document_of(Section section) {
  Document document;
  document.view = "test";
  document.sections.push_back(std::move(section));
  return document;
}

Table sizes(std::vector<std::pair<std::string, Bytes>> rows) {
  Table table;
  table.columns = {{"size", "size", ColumnKind::bytes}, {"name", "name"}};
  for (auto& [name, bytes] : rows) table.rows.push_back({{bytes, name}, RowKind::data, 0});
  return table;
}

}  // namespace

TEST_CASE("a column has one unit, decided by its largest value") {
  const std::string text = rendered(document_of({"t", "", sizes({{"a", gib(2)}, {"b", mib(512)}}), {}}), Format::table);
  CHECK(text ==
        "  size GiB  name\n"
        "      2.00  a\n"
        "      0.50  b\n");
}

TEST_CASE("just below a unit the smaller one is taken") {
  CHECK(rendered(document_of({"t", "", sizes({{"a", Bytes(kGiB - 1)}}), {}}), Format::table).find("1,024.0") !=
        std::string::npos);
  CHECK(rendered(document_of({"t", "", sizes({{"a", Bytes(kGiB)}}), {}}), Format::table).find("size GiB") != std::string::npos);
}

TEST_CASE("totals are printed under a rule and kept out of data files") {
  Table table = sizes({{"a", gib(2)}, {"b", gib(1)}});
  table.rows.push_back({{gib(3), text_cell("total")}, RowKind::total, 0});
  const Document document = document_of({"t", "", table, {}});
  CHECK(rendered(document, Format::table).ends_with("  --------\n      3.00  total\n"));
  CHECK(rendered(document, Format::csv) == "size_gib,name\n2,a\n1,b\n");
  CHECK(nlohmann::json::parse(rendered(document, Format::json))["t"].size() == 2);
}

TEST_CASE("children are indented under their parent") {
  Table table = sizes({{"state", gib(2)}});
  table.rows.push_back({{gib(1), text_cell("weights")}, RowKind::data, 1});
  CHECK(rendered(document_of({"t", "", table, {}}), Format::table).find("      1.00    weights\n") != std::string::npos);
}

TEST_CASE("CSV quotes what RFC 4180 asks for, and only that") {
  Table table;
  table.columns = {{"a", "a"}, {"b", "b"}};
  table.rows.push_back({{text_cell("x,y"), text_cell("say \"hi\"")}, RowKind::data, 0});
  table.rows.push_back({{text_cell("plain"), text_cell("two\nlines")}, RowKind::data, 0});
  CHECK(rendered(document_of({"t", "", table, {}}), Format::csv) == "a,b\n\"x,y\",\"say \"\"hi\"\"\"\nplain,\"two\nlines\"\n");
}

TEST_CASE("units stand in the keys of CSV and JSON") {
  const Facts facts{{{"step_time", "step time", ColumnKind::seconds}, Seconds(0.25), {}},
                    {{"peak_memory", "peak", ColumnKind::bytes}, gib(1.5), {}},
                    {{"mfu", "MFU", ColumnKind::ratio}, 0.4, {}}};
  const Document document = document_of({"f", "F", facts, {}});
  CHECK(rendered(document, Format::csv) == "key,value\nstep_time_s,0.25\npeak_memory_gib,1.5\nmfu,0.4\n");
  const auto json = nlohmann::json::parse(rendered(document, Format::json));
  CHECK(json["f"]["step_time_s"] == 0.25);
  CHECK(json["f"]["peak_memory_gib"] == 1.5);
  CHECK(json["cost_model_version"] == std::string(kCostModelVersion));
  CHECK(rendered(document, Format::table).find("step time  250.00 ms") != std::string::npos);
}

TEST_CASE("what is not known is a dash, null or nothing") {
  Table table;
  table.columns = {{"n", "n", ColumnKind::number}, {"t", "t"}};
  table.rows.push_back({{std::numeric_limits<double>::infinity(), text_cell("a")}, RowKind::data, 0});
  table.rows.push_back({{Cell(), text_cell("b")}, RowKind::data, 0});
  const Document document = document_of({"t", "", table, {}});
  CHECK(rendered(document, Format::csv) == "n,t\n,a\n,b\n");
  CHECK(nlohmann::json::parse(rendered(document, Format::json))["t"][0]["n"].is_null());
  CHECK(rendered(document, Format::table) == "  n  t\n  -  a\n  -  b\n");
}

TEST_CASE("several sections are blocks of CSV; one alone is a plain file") {
  Document document = document_of({"one", "One", sizes({{"a", gib(1)}}), {}});
  document.sections.push_back({"two", "Two", sizes({{"b", gib(2)}}), {}});
  CHECK(rendered(document, Format::csv) == "# one\nsize_gib,name\n1,a\n\n# two\nsize_gib,name\n2,b\n");
  CHECK(rendered(only_sections(document, {"two"}), Format::csv) == "size_gib,name\n2,b\n");
  CHECK_THROWS_WITH_AS(only_sections(document, {"twoo"}), "--section: got twoo, expected one of one, two; did you mean two?",
                       InputError);
}

TEST_CASE("a long table is printed in part and written whole") {
  Table table = sizes({{"a", gib(3)}, {"b", gib(2)}, {"c", gib(1)}});
  table.most_printed = 2;
  table.rest = "--csv FILE has them all";
  const Document document = document_of({"t", "", table, {}});
  CHECK(rendered(document, Format::table).ends_with("      2.00  b\n  and 1 more: --csv FILE has them all\n"));
  CHECK(rendered(document, Format::csv).find("1,c") != std::string::npos);
  table.most_printed = 3;
  CHECK(rendered(document_of({"t", "", table, {}}), Format::table).find("more") == std::string::npos);
}

TEST_CASE("a section without rows or notes is not printed, unless it is what was asked for") {
  Document document = document_of({"empty", "Nothing here", sizes({}), {}});
  CHECK(rendered(document, Format::table).find("none") != std::string::npos);
  document.sections.push_back({"t", "Sizes", sizes({{"a", gib(1)}}), {}});
  CHECK(rendered(document, Format::table).find("Nothing here") == std::string::npos);
  CHECK(rendered(document, Format::json).find("empty") != std::string::npos);
  document.sections.front().notes = {"since no layout fits"};
  CHECK(rendered(document, Format::table).find("Nothing here") != std::string::npos);
}

TEST_CASE("colour repeats what words say") {
  Document document = document_of({"t", "Title", sizes({{"a", gib(1)}}), {}});
  document.summary = "Fits";
  document.tone = Tone::good;
  std::string coloured = rendered(document, Format::table, true);
  CHECK(coloured.find("\033[32mFits\033[0m") != std::string::npos);
  for (std::size_t at; (at = coloured.find('\033')) != std::string::npos;) coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == rendered(document, Format::table, false));
}

TEST_CASE("numbers get commas and no negative zero") {
  Table table;
  table.columns = {{"n", "n", ColumnKind::count}, {"x", "x", ColumnKind::number, 1}};
  table.rows.push_back({{count_cell(-1234567), -0.01}, RowKind::data, 0});
  table.rows.push_back({{count_cell(999), 1234.56}, RowKind::data, 0});
  CHECK(rendered(document_of({"t", "", table, {}}), Format::table) ==
        "           n        x\n"
        "  -1,234,567      0.0\n"
        "         999  1,234.6\n");
}
