// SPDX-License-Identifier: Apache-2.0
// The text of `perf script`: a header line a sample, then its frames, innermost first, then an
// empty line. Each sample counts one. Frames become "function (library)"; addresses and offsets
// are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

struct PerfHeader {
  std::string_view command;
  std::string_view pid{};  // empty where perf printed the thread alone
  std::string_view tid;
  std::optional<Ns> time{};
  std::string_view event;
  std::string_view rest{};  // behind the event: a frame, where there is no call chain
};

// "python3  12/34 [003] 5.678901:  1001 cycles:u: "; false where the line is none.
[[nodiscard]] bool parse_perf_header(std::string_view line, PerfHeader& header);

[[nodiscard]] bool is_perf_script(std::string_view head);
[[nodiscard]] Result<Done> read_perf_script(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
