// SPDX-License-Identifier: Apache-2.0
// The text of `perf script`: for each sample a header line, its frames from the innermost, and an
// empty line. Each sample counts as one. Frames become "function (library)"; addresses and offsets
// are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct PerfHeader {
  std::string_view command;
  std::string_view pid{};  // empty if perf printed only the thread
  std::string_view tid;
  std::optional<Ns> time{};
  std::string_view event;
  std::string_view rest{};  // behind the event: a frame if there is no call chain
};

// "python3  12/34 [003] 5.678901:  1001 cycles:u: "; false if the line is not a header.
[[nodiscard]] bool parse_perf_header(std::string_view line, PerfHeader& header);

}  // namespace stepscope
