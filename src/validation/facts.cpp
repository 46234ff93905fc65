// SPDX-License-Identifier: Apache-2.0
#include "validation/facts.hpp"

#include <cmath>

#include "validation/log_reading.hpp"

namespace shardfit::validation {

bool is_of_pattern(const std::string& text, const std::string& pattern) {
  const auto star = pattern.find('*');
  if (star == std::string::npos) return text == pattern;
  if (text.compare(0, star, pattern, 0, star) != 0) return false;
  const std::string rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at)
    if (is_of_pattern(text.substr(at), rest)) return true;
  return false;
}

std::vector<int> state_facts(const std::vector<RunFact>& facts, std::vector<MeasuredRun>& runs) {
  std::vector<int> held;
  for (const RunFact& fact : facts) {
    int n = 0;
    for (MeasuredRun& run : runs) {
      if (!is_of_pattern(run.id, fact.runs)) continue;
      run.resumed |= fact.resumed;
      ++n;
    }
    held.push_back(n);
  }
  return held;
}

FirstSteps read_first_steps(const std::vector<MeasuredRun>& runs, const std::vector<Row>& rows) {
  constexpr double kClose = 0.01;
  FirstSteps s;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto measured = runs[i].quantities.find(kFirstStepPeak);
    if (rows[i].status != RowStatus::ok || measured == runs[i].quantities.end()) continue;
    const Estimate& e = *rows[i].estimate;
    const auto is_close = [&](bool resumed) {
      return std::abs(logged_first_step(runs[i], e, e.layout.pp - 1, resumed) / measured->second - 1) < kClose;
    };
    const bool fresh = is_close(false), resumed = is_close(true);
    ++s.rows;
    s.stated += runs[i].resumed;
    s.fresh += fresh;
    s.resumed += resumed;
    s.either += fresh || resumed;
  }
  return s;
}

}  // namespace shardfit::validation
