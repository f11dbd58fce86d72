// SPDX-License-Identifier: Apache-2.0
// Parses the text of a frame in the spellings of profilers: "fetch (zero/stage3.py:12)", "fetch
// [0x36a] [36a]", "main (libfoo.so)", "read_[k]", "[unknown] in libc.so.6", "file.py:fn:12".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

enum class FrameKind : std::uint8_t { python, native, kernel, unknown };
constexpr std::string_view frame_kind_names[] = {"python", "native", "kernel", "unknown"};

// Views of the text.
struct Frame {
  std::string_view function;                   // without file, line, instruction
  std::string_view file{};                     // or the library
  int line = 0;                                // 0: unknown
  std::optional<std::uint32_t> instruction{};  // of CPython: f_lasti in code units of two bytes
  FrameKind kind = FrameKind::native;
};

[[nodiscard]] Frame frame_of(std::string_view text);

// "[unknown] (libc.so.6)" for "0x7f12ab (libc.so.6)", and "[unknown]" where the library is not
// known either: an address without a symbol differs between processes. Absent for other texts.
[[nodiscard]] std::optional<std::string> without_address(std::string_view text);

// Collapses runs of underscores: optical readers and some profilers lose the second one of
// "__reduce".
[[nodiscard]] std::string one_underscore(std::string_view text);

// Function and file without line and instruction. It stays the same when code moves a little.
[[nodiscard]] std::string place_of_frame(const Frame& frame);

}  // namespace stepscope
