// SPDX-License-Identifier: Apache-2.0
// What the text of a frame says, in any of the spellings of profilers: "fetch (zero/stage3.py:12)",
// "fetch [0x36a] [36a]", "main (libfoo.so)", "read_[k]", "[unknown] in libc.so.6", "file.py:fn:12".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

enum class FrameKind : std::uint8_t { python, native, kernel, unknown };
constexpr std::string_view frame_kind_names[] = {"python", "native", "kernel", "unknown"};

// Views into the text.
struct Frame {
  std::string_view function;                   // without file, line, instruction
  std::string_view file{};                     // or library
  int line = 0;                                // 0: not told
  std::optional<std::uint32_t> instruction{};  // of CPython: f_lasti in code units of two bytes
  FrameKind kind = FrameKind::native;
};

[[nodiscard]] Frame frame_of(std::string_view text);

// Runs of underscores as one: optical readers and some profilers lose the second of "__reduce".
[[nodiscard]] std::string one_underscore(std::string_view text);

// Function and file without line and instruction: what stays the same when code moves a little.
[[nodiscard]] std::string place_of_frame(const Frame& frame);

}  // namespace stepscope
