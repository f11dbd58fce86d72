// SPDX-License-Identifier: Apache-2.0
// Lines on standard error of a run that is to go on where they cannot be written: a full disk.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace stepscope {

template <class... Values>
void say(fmt::format_string<Values...> format, const Values&... values) {
  const std::string line = fmt::vformat(format, fmt::make_format_args(values...));
  std::fputs(line.c_str(), stderr);
}

}  // namespace stepscope
