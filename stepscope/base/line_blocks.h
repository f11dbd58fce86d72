// SPDX-License-Identifier: Apache-2.0
// Splits a source into blocks of whole lines, for readers that search several lines at once.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/stop.h"

namespace stepscope {

inline constexpr std::size_t longest_block_line = 1 << 20;

// Calls take(block) for all bytes of the source, in order. Each block but the last ends behind a
// character of `ends`. A line longer than longest_block_line is split; its rest counts as another
// line. The view is valid during the call. Returns the number of bytes read. Errors: those of the
// source, that of take() (a Result<Done>), or the user has asked to stop (`stop` may be null).
template <class Take>
Result<std::uint64_t> for_line_blocks(ByteSource& source, std::string_view ends, Take&& take,
                                      const StopFlag* stop = nullptr) {
  std::uint64_t bytes = 0;
  std::string buffer;
  std::size_t filled = 0;
  for (bool over = false; !over;) {
    if (stop != nullptr && stop->requested()) return interrupted();
    if (buffer.size() < filled + window_bytes) buffer.resize(filled + window_bytes);
    const auto got = source.read(std::span(buffer).subspan(filled, window_bytes));
    if (!got) return got.error();
    over = *got < window_bytes;
    bytes += *got;
    filled += *got;
    std::size_t end = filled;
    if (!over) {
      const std::size_t last = std::string_view(buffer).substr(0, filled).find_last_of(ends);
      if (last == std::string_view::npos && filled < longest_block_line) continue;
      if (last != std::string_view::npos) end = last + 1;
    }
    if (const auto taken = take(std::string_view(buffer).substr(0, end)); !taken)
      return taken.error();
    filled -= end;
    std::memmove(buffer.data(), buffer.data() + end, filled);
  }
  return bytes;
}

}  // namespace stepscope
