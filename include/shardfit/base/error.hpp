// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace shardfit {

/// A fault in what the user gave: thrown only at the edge (reading files and flags), caught only in `cli`.
/// `what()` reads "scenario.json: /layout/tp: got 3, expected a divisor of 64; try 2 or 4".
class InputError : public std::runtime_error {
 public:
  /// `file` may be empty (a flag); `pointer` is a JSON pointer (RFC 6901) or a flag's name; `hint` may be empty.
  InputError(std::string file, std::string pointer, std::string got, std::string expected, std::string hint = {});

  const std::string& file() const { return file_; }
  const std::string& pointer() const { return pointer_; }
  const std::string& got() const { return got_; }
  const std::string& expected() const { return expected_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string file_, pointer_, got_, expected_, hint_;
};

}  // namespace shardfit
