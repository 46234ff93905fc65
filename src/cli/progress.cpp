// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <ostream>

#include "report/numbers.hpp"

namespace shardfit::cli {
namespace {

constexpr double kLiveSeconds = 0.1;    // as fast as an eye follows
constexpr double kLineSeconds = 5;      // a log of an hour stays below a thousand lines

}  // namespace

std::string progress_text(const SweepProgress& progress, double seconds) {
  using report::grouped;
  const double done = double(progress.done), total = double(progress.total);
  const double rate = seconds > 0 ? done / seconds : 0;
  std::string text = fmt::format("{}  {} of {}", report::percent(total > 0 ? done / total : 0),
                                 grouped(std::int64_t(progress.done)), grouped(std::int64_t(progress.total)));
  if (rate > 0) text += fmt::format("  {}/s  ETA {} s", grouped(rate, 0), grouped((total - done) / rate, 0));
  text += fmt::format("  {} fit", grouped(std::int64_t(progress.fit)));
  if (progress.best_tokens_per_s_per_gpu > 0)
    text += fmt::format("  best {} tokens/s/GPU", grouped(progress.best_tokens_per_s_per_gpu, 1));
  return text;
}

void Progress::show(const SweepProgress& progress, double seconds) {
  if (seconds - last_ < (live_ ? kLiveSeconds : kLineSeconds)) return;
  last_ = seconds;
  shown_ = true;
  if (live_) err_ << "\r\033[K" << progress_text(progress, seconds) << std::flush;
  else err_ << "shardfit: " << progress_text(progress, seconds) << std::endl;
}

void Progress::finish() {
  if (live_ && shown_) err_ << "\r\033[K" << std::flush;
}

}  // namespace shardfit::cli
