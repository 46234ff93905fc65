// SPDX-License-Identifier: Apache-2.0
// The Slurm recipe of docs/many-machines.md, as it stands there: its scripts run under a stub of sbatch that starts the
// tasks one after the other; what they ask of the program is then done here, and has to merge to the bytes of one sweep.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "cli/command.hpp"

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The n-th script after a heading.
std::string script(const std::string& document, const std::string& heading, int n) {
  std::size_t at = document.find(heading);
  REQUIRE(at != std::string::npos);
  for (int i = 0; i <= n; ++i) {
    at = document.find("```sh\n", at);
    REQUIRE(at != std::string::npos);
    at += 6;
    if (i < n) at = document.find("```", at) + 3;
  }
  return document.substr(at, document.find("```", at) - at);
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

/// What the scripts called, in order: one file a call, one line an argument.
std::vector<std::vector<std::string>> calls_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::vector<std::string>> calls;
  for (const fs::path& file : files) {
    std::ifstream in(file);
    calls.emplace_back();
    for (std::string line; std::getline(in, line);) calls.back().push_back(line);
  }
  return calls;
}

// Runs a script once for each number of its --array, with the variables that Slurm sets; a --wrap at once.
constexpr const char* kSbatch = R"sh(#!/bin/sh
for a; do
  if [ "$wrap" ]; then eval "$a" >&2; exit; fi
  case $a in --wrap) wrap=yes;; -*) ;; *) script=$a;; esac
done
export SLURM_CPUS_PER_TASK=$(sed -n 's/.*--cpus-per-task=\([0-9]*\).*/\1/p' "$script")
i=$(sed -n 's/.*--array=\([0-9]*\)-.*/\1/p' "$script")
last=$(sed -n 's/.*--array=[0-9]*-\([0-9]*\).*/\1/p' "$script")
while [ "$i" -le "$last" ]; do
  SLURM_ARRAY_TASK_ID=$i sh "$script" >&2
  i=$((i + 1))
done
echo 4711
)sh";

// Writes down how it was called, and makes the file that a shard would leave, so that the merge's *.json finds it.
constexpr const char* kShardfit = R"sh(#!/bin/sh
call=$(printf '%s/%03d' "$CALLS" "$(ls "$CALLS" | wc -l)")
for a; do
  printf '%s\n' "$a" >> "$call"
  if [ "$part" ]; then : > "$a"; fi
  part=; if [ "$a" = --resume ]; then part=yes; fi
done
)sh";

}  // namespace

TEST_CASE("the Slurm array of the documentation merges to the bytes of one sweep") {
  const Folder folder;
  const std::string document = text_of(std::string(SHARDFIT_SOURCE_DIR) + "/docs/many-machines.md");
  fs::create_directories(folder.path / "bin");
  fs::create_directories(folder.path / "calls");
  write(folder.path / "bin/sbatch", kSbatch);
  write(folder.path / "bin/shardfit", kShardfit);
  write(folder.path / "array.sh", script(document, "### Slurm array", 0));
  write(folder.path / "submit.sh", script(document, "### Slurm array", 1));
  fs::copy_file(kSmall, folder.path / "study.json");
  const std::string home = "'" + folder.path.string() + "'";
  REQUIRE(
      std::system(("cd " + home + " && CALLS=" + home + "/calls PATH=" + home + "/bin:\"$PATH\" sh -e submit.sh 2>/dev/null")
                      .c_str()) == 0);

  fs::remove_all(folder.path / "parts");
  fs::create_directories(folder.path / "parts");
  std::vector<std::vector<std::string>> calls = calls_in(folder.path / "calls");
  REQUIRE(calls.size() == 33);  // 32 tasks and the merge
  for (std::vector<std::string>& call : calls) {
    std::replace(call.begin(), call.end(), std::string("study.csv"), folder.file("study.csv"));
    const Ran ran = run(call);
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
  }
  CHECK(calls.front()[3] == "0/32");
  CHECK(calls.back().front() == "merge");
  CHECK(text_of(folder.path / "study.csv") == run({"sweep", folder.file("study.json"), "--format", "csv"}).out);
}
