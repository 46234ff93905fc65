// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "report/numbers.hpp"

namespace shardfit::cli {
namespace {

constexpr double kLiveSeconds = 0.1;  // as fast as an eye follows
constexpr double kLineSeconds = 5;    // a log of an hour stays below a thousand lines

}  // namespace

namespace {

/// What is counted: allowed layouts are what takes time, combinations go by in crowds.
struct Work {
  std::uint64_t done, total, before;
  const char* unit;
};

Work work_of(const SweepProgress& p) {
  if (p.expected_valid > 0) return {std::min(p.valid, p.expected_valid), p.expected_valid, p.resumed_valid, " layouts"};
  return {p.done, p.total, p.resumed, ""};
}

}  // namespace

std::string progress_text(const SweepProgress& progress, double seconds) {
  using report::grouped;
  const Work work = work_of(progress);
  const double done = double(work.done), total = double(work.total);
  const double rate = seconds > 0 ? std::max(0.0, done - double(work.before)) / seconds : 0;
  std::string text = fmt::format("{}  {} of {}{}", report::percent(total > 0 ? done / total : 0),
                                 grouped(std::int64_t(work.done)), grouped(std::int64_t(work.total)), work.unit);
  if (rate > 0) text += fmt::format("  {}/s  ETA {} s", grouped(rate, 0), grouped((total - done) / rate, 0));
  text += fmt::format("  {} fit", grouped(std::int64_t(progress.fit)));
  if (progress.best_tokens_per_s_per_gpu > 0)
    text += fmt::format("  best {} tokens/s/GPU", grouped(progress.best_tokens_per_s_per_gpu, 1));
  return text;
}

std::string space_text(std::uint64_t combinations, std::uint64_t valid) {
  return fmt::format("{} combinations, {} layouts that the rules allow", report::grouped(std::int64_t(combinations)),
                     report::grouped(std::int64_t(valid)));
}

void Progress::show(const SweepProgress& progress, double seconds) {
  if (seconds - last_ < (live_ ? kLiveSeconds : kLineSeconds)) return;
  last_ = seconds;
  shown_ = true;
  if (live_)
    err_ << "\r\033[K" << progress_text(progress, seconds) << std::flush;
  else
    err_ << "shardfit: " << progress_text(progress, seconds) << std::endl;
}

void Progress::finish() {
  if (live_ && shown_) err_ << "\r\033[K" << std::flush;
}

}  // namespace shardfit::cli
