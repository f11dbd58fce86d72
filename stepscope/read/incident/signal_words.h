// SPDX-License-Identifier: Apache-2.0
// Signals that end processes, by the words of the C library's strsignal(), which srun, bash and
// DataLoader use, of zsh, and by name.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace stepscope {

struct SignalWords {
  std::string_view words;
  std::string_view zsh;
  std::string_view name;
  int number;
};
inline constexpr std::array<SignalWords, 7> signal_words = {
    {{"Killed", "killed", "SIGKILL", 9},
     {"Segmentation fault", "segmentation fault", "SIGSEGV", 11},
     {"Bus error", "bus error", "SIGBUS", 7},
     {"Aborted", "abort", "SIGABRT", 6},
     {"Terminated", "terminated", "SIGTERM", 15},
     {"Floating point exception", "floating point exception", "SIGFPE", 8},
     {"Illegal instruction", "illegal hardware instruction", "SIGILL", 4}}};

// "Killed", "Segmentation fault", at the front.
[[nodiscard]] constexpr std::optional<int> signal_at(std::string_view text) {
  for (const SignalWords& s : signal_words)
    if (text.starts_with(s.words)) return s.number;
  return std::nullopt;
}

}  // namespace stepscope
