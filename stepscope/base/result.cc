// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace stepscope {

std::string Error::message() const {
  std::string line;
  if (!file.empty()) line += file + ": ";
  if (byte) line += "byte " + std::to_string(*byte) + ": ";
  line += what;
  if (!hint.empty()) line += "; " + hint;
  return line;
}

void check(bool ok, std::string_view what, std::source_location where) {
  if (ok) [[likely]]
    return;
  std::fprintf(stderr, "stepscope bug: %s:%u: %.*s\n", where.file_name(), where.line(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace stepscope
