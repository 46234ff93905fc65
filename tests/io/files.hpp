// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "shardfit/base/error.hpp"

namespace shardfit::io_test {

/// The tree under test, whatever data folder the machine has beside it.
inline const bool kDataDirSet = setenv("SHARDFIT_DATA_DIR", SHARDFIT_SOURCE_DIR, 1) == 0;

/// The message of the InputError that a call throws; "no error" if it throws none.
template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace shardfit::io_test
