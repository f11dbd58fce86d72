// SPDX-License-Identifier: Apache-2.0
// What the code of a process that ended stands for.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope {

// Shells, containers and schedulers say 128 + N for a program that signal N ended. Only of the
// signals that end programs; a program may choose such a code itself.
[[nodiscard]] constexpr std::optional<std::int64_t> signal_of_code(std::int64_t code) {
  const std::int64_t signal = code - 128;
  switch (signal) {
    case 4:
    case 6:
    case 7:
    case 8:
    case 9:
    case 11:
    case 15:
      return signal;
    default:
      return std::nullopt;
  }
}

}  // namespace stepscope
