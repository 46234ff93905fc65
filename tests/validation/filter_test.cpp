// SPDX-License-Identifier: Apache-2.0
#include "validation/filter.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::validation;

namespace {

MeasuredRun run_of(const char* hardware, const char* tp) {
  MeasuredRun run;
  run.fields = {{"hardware", hardware}, {"layout.tp", tp}, {"tp", tp}, {"tuned", "false"}};
  run.quantities = {{"static_allocated_bytes", 3.0 * 1024 * 1024 * 1024}};
  return run;
}

std::vector<MeasuredRun> runs() { return {run_of("h100-hgx", "2"), run_of("gb200-nvl72", "4")}; }

std::size_t count(const char* condition) { return selected(runs(), {Filter(condition)}).size(); }

std::string refusal(const std::vector<Filter>& filters) {
  try {
    selected(runs(), filters);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("conditions: equal, unlike, above, below, with units") {
  CHECK(count("hardware=h100-hgx") == 1);
  CHECK(count("hardware!=h100-hgx") == 1);
  CHECK(count("tp>2") == 1);
  CHECK(count("layout.tp<8") == 2);
  CHECK(count("static>2GiB") == 2);
  CHECK(refusal({Filter("static>3GiB")}) != "");
}

TEST_CASE("a field that no run has, a value that none has, and conditions that exclude each other are told apart") {
  CHECK(refusal({Filter("hardwre=h100-hgx")}).find("a field that a run has") != std::string::npos);
  CHECK(refusal({Filter("hardwre=h100-hgx")}).find("did you mean \"hardware\"?") != std::string::npos);
  CHECK(refusal({Filter("hardware=h100-hgxx")}).find("hardware is gb200-nvl72, h100-hgx; did you mean \"h100-hgx\"?") !=
        std::string::npos);
  CHECK(refusal({Filter("tuned")}).find("tuned is false") != std::string::npos);
  CHECK(refusal({Filter("tunned")}).find("did you mean \"tuned\"?") != std::string::npos);
  CHECK(refusal({Filter("tp=2"), Filter("hardware=gb200-nvl72")}).find("one that meets all conditions together") !=
        std::string::npos);
}
