// SPDX-License-Identifier: Apache-2.0
#include "shardfit/base/error.hpp"

namespace shardfit {
namespace {

std::string message(const std::string& file, const std::string& pointer, const std::string& got, const std::string& expected,
                    const std::string& hint) {
  std::string text;
  if (!file.empty()) text += file + ": ";
  if (!pointer.empty()) text += pointer + ": ";
  text += "got " + got + ", expected " + expected;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

InputError::InputError(std::string file, std::string pointer, std::string got, std::string expected, std::string hint)
    : std::runtime_error(message(file, pointer, got, expected, hint)),
      file_(std::move(file)),
      pointer_(std::move(pointer)),
      got_(std::move(got)),
      expected_(std::move(expected)),
      hint_(std::move(hint)) {}

}  // namespace shardfit
