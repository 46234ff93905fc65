// SPDX-License-Identifier: Apache-2.0
#include "report/atomic_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "shardfit/base/error.hpp"

using namespace shardfit;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, gone afterwards.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("shardfit_atomic_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  std::size_t entries() const { return std::size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
};

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a file appears whole at commit") {
  const Folder folder;
  const std::string path = folder.file("x.csv");
  AtomicFile file(path);
  file.stream() << "new";
  CHECK_FALSE(fs::exists(path));
  file.commit();
  CHECK(contents(path) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("without commit the old file stays and nothing is left beside it") {
  const Folder folder;
  const std::string path = folder.file("x.csv");
  std::ofstream(path) << "old";
  { AtomicFile(path).stream() << "new"; }
  CHECK(contents(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a link keeps pointing where it points") {
  const Folder folder;
  std::ofstream(folder.file("real")) << "old";
  fs::create_symlink("real", folder.file("link"));
  AtomicFile file(folder.file("link"));
  file.stream() << "new";
  file.commit();
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(contents(folder.file("real")) == "new");
}

TEST_CASE("a path that cannot be written fails at once") {
  const Folder folder;
  CHECK_THROWS_AS(AtomicFile(folder.file("missing/x.csv")), InputError);
  CHECK_THROWS_AS(AtomicFile(folder.path.string()), InputError);
}

TEST_CASE("a device is written directly") {
  AtomicFile file("/dev/null");
  file.stream() << "x";
  file.commit();
  CHECK(fs::is_character_file("/dev/null"));
}
