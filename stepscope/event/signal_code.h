// SPDX-License-Identifier: Apache-2.0
// What the code of a process that ended stands for.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope {

// Shells, containers and schedulers say 128 + N for a program that signal N ended. Only of the
// signals that end programs; a program may choose such a code itself.
[[nodiscard]] constexpr std::optional<std::int64_t> signal_of_code(std::int64_t code) {
  switch (code) {
    case 128 + 4:
    case 128 + 6:
    case 128 + 7:
    case 128 + 8:
    case 128 + 9:
    case 128 + 11:
    case 128 + 15:
      return code - 128;
    default:
      return std::nullopt;
  }
}

}  // namespace stepscope
