// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"

namespace shardfit::io {
namespace {

using validation::PointTable;

std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells;
  for (std::size_t from = 0;;) {
    const std::size_t comma = line.find(',', from);
    cells.push_back(line.substr(from, comma == std::string::npos ? comma : comma - from));
    if (comma == std::string::npos) return cells;
    from = comma + 1;
  }
}

}  // namespace

PointTable load_points(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw InputError(path, "", "a file that cannot be read", "a table of points (.csv)");
  PointTable table{.file = path, .columns = {}, .lines = {}};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (number == 1) {
      table.columns = cells_of(line);
      continue;
    }
    if (line.empty()) continue;
    PointTable::Line read{number, cells_of(line)};
    if (read.cells.size() != table.columns.size())
      throw InputError(path, "line " + std::to_string(number), std::to_string(read.cells.size()) + " cells",
                       std::to_string(table.columns.size()) + ", as the heading has");
    table.lines.push_back(std::move(read));
  }
  if (table.lines.empty()) throw InputError(path, "", "no points", "a heading and at least one line");
  return table;
}

std::vector<PointTable> load_kernel_tables(const std::string& folder) {
  std::vector<PointTable> tables;
  for (const char* name : {"gemm.csv", "grouped_gemm_train.csv", "attention_prefill.csv", "mla_prefill.csv"})
    if (const std::string path = folder + "/" + name; std::filesystem::exists(path)) tables.push_back(load_points(path));
  if (tables.empty())
    throw InputError("", "--kernels", folder, "a folder with tables of measured kernels",
                     "gemm.csv, grouped_gemm_train.csv, attention_prefill.csv or mla_prefill.csv");
  return tables;
}

validation::PointContext load_point_context() {
  validation::PointContext context;
  for (const std::string& name : list_hardware()) context.hardware.emplace(name, load_hardware(name));
  // An H800 is an H100 whose NVLink carries 400 GB/s both ways together (DeepEP's README). Kind: datasheet.
  HardwareSpec h800 = load_hardware("h100-hgx");
  h800.name = "h800-hgx";
  h800.fabric.nvlink_gb_per_s = {200, FigureKind::datasheet, "H800: 400 GB/s both ways"};
  context.hardware.emplace(h800.name, h800);
  context.time = load_coefficients();
  return context;
}

}  // namespace shardfit::io
