// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace shardfit::estimate {

/// Tables by a key, of one shard key: a search returns to each key once for every way to cut and shard the model, and reads
/// them where they lie. Memory is kept when it is emptied. None as key: a table that is not remembered.
template <class Table>
class Memo {
 public:
  using Key = std::optional<std::uint64_t>;

  explicit Memo(std::size_t most) : most_(most) {}

  /// The table of a key; `make(table)` fills it where it is not remembered. Good until the memo is cleared or, for one that
  /// is not remembered, until the next call.
  template <class Make>
  const Table& at(const Key& key, Make make) {
    const std::size_t at = place_of(key);
    if (at == kNowhere) {
      make(unremembered_);
      last_ = kNowhere;
      return unremembered_;
    }
    if (at == keys_.size()) {
      keys_.push_back(*key);
      if (tables_.size() < keys_.size()) tables_.emplace_back();
      make(tables_[at]);
    }
    last_ = at;
    return tables_[at];
  }
  /// Number of the table last asked for; none if it is not remembered.
  std::optional<std::size_t> last() const { return last_ == kNowhere ? std::nullopt : std::optional(last_); }
  void clear() {
    keys_.clear();
    last_ = kNowhere;
  }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t(0);

  /// Where the table of a key is, or is to be.
  std::size_t place_of(const Key& key) const {
    if (!key) return kNowhere;
    // A search asks for the same keys in the same order again and again.
    const std::size_t next = last_ + 1;
    if (next < keys_.size() && keys_[next] == *key) return next;
    const std::size_t at = std::size_t(std::find(keys_.begin(), keys_.end(), *key) - keys_.begin());
    return at == most_ ? kNowhere : at;
  }

  std::size_t most_;
  std::vector<std::uint64_t> keys_;
  std::deque<Table> tables_;  ///< at least as many as keys; they stay where they are
  Table unremembered_{};
  std::size_t last_ = kNowhere;
};

}  // namespace shardfit::estimate
