// SPDX-License-Identifier: Apache-2.0
// A sweep in parts from the command line: taken up again, in shards, merged.
#include <doctest/doctest.h>

#include <atomic>

#include "cli/command.hpp"

namespace fs = std::filesystem;

TEST_CASE("shards merge to the bytes of one sweep, in every format") {
  const Folder folder;
  for (int i = 0; i < 3; ++i) {
    const Ran ran = run({"sweep", kSmall, "--shard", std::to_string(i) + "/3", "--resume", folder.file(std::to_string(i))});
    CHECK(ran.code == 0);
    CHECK(ran.out.empty());
  }
  for (const char* format : {"json", "csv"}) {
    const Ran whole = run({"sweep", kSmall, "--format", format});
    const Ran merged = run({"merge", kSmall, folder.file("2"), folder.file("0"), folder.file("1"), "--format", format});
    CHECK(merged.code == 0);
    CHECK(merged.out == whole.out);
  }
  CHECK(run({"merge", kSmall, folder.file("0"), folder.file("1")}).err.find("no shard 2/3") != std::string::npos);
  CHECK(run({"merge", kSmall, folder.file("0"), folder.file("0"), folder.file("1")}).err.find("shard 0/3 twice") !=
        std::string::npos);
  // What a part keeps covers 2,000 layouts; a longer list would have holes.
  CHECK(run({"merge", kSmall, folder.file("2"), folder.file("0"), folder.file("1"), "--top", "1000"}).code == 0);
  CHECK(run({"merge", kSmall, folder.file("2"), folder.file("0"), folder.file("1"), "--top", "5000"}).code == 2);
  CHECK(run({"merge", kSmall, folder.file("0"), "--tp", "1"}).err.find("other flags") != std::string::npos);
  CHECK(run({"sweep", kSmall, "--resume", folder.file("1")}).err.find("got 1/3, expected 0/1") != std::string::npos);
  CHECK(run({"sweep", kSmall, "--shard", "1/2", "--resume", folder.file("1")}).code == 2);
}

TEST_CASE("an interrupt keeps what is known, writes no CSV and exits with 130; the sweep can be taken up") {
  const Folder folder;
  const std::atomic<bool> stop = true;
  const Ran stopped = run(
      {"sweep", kSmall, "--resume", folder.file("known"), "--top-csv", folder.file("top.csv"), "--format", "json"}, &stop);
  CHECK(stopped.code == 130);
  CHECK(stopped.out.find("\"complete\": false") != std::string::npos);
  CHECK(stopped.err.find("CSV files are not written") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.file("top.csv")));
  const Ran all = run({"sweep", kSmall, "--csv", folder.file("all.csv")}, &stop);
  CHECK(all.code == 130);
  CHECK_FALSE(fs::exists(folder.file("all.csv")));
  const Ran resumed = run({"sweep", kSmall, "--resume", folder.file("known"), "--format", "json"});
  CHECK(resumed.code == 0);
  CHECK(resumed.out == run({"sweep", kSmall, "--format", "json"}).out);
  CHECK(run({"sweep", kSmall, "--resume", folder.file("known"), "--format", "json"}).out == resumed.out);
}

TEST_CASE("parts of work are asked for in full") {
  const Folder folder;
  CHECK(run({"sweep", kSmall, "--shard", "0/2"}).err.find("--resume FILE") != std::string::npos);
  CHECK(run({"sweep", kSmall, "--shard", "2/2", "--resume", folder.file("x")}).err.find("numbered from 0") !=
        std::string::npos);
  CHECK(run({"sweep", kSmall, "--shard", "half", "--resume", folder.file("x")}).err.find("i/n") != std::string::npos);
  CHECK(run({"sweep", kSmall, "--csv", folder.file("a.csv"), "--resume", folder.file("x")}).err.find("from start to end") !=
        std::string::npos);
  CHECK(run({"sweep", kSmall, "--resume", "/no-such-folder/x"}).code == 2);
}

TEST_CASE("the size of the space is told before the sweep") {
  CHECK(run({"sweep", kSmall, "-o", "/dev/null"}).err.find("2,304 combinations, 1,080 layouts that the rules allow") !=
        std::string::npos);
}
