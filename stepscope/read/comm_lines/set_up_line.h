// SPDX-License-Identifier: Apache-2.0
// A line in which PyTorch says what a process waits for as it joins a job or a group: the processes
// of the job at a store, the first rank of a communicator, an address, rank 0 behind a monitored
// barrier. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/event/comm_records.h"

namespace stepscope {

struct SetUpLine {
  SetUpKind kind = SetUpKind::store_barrier;
  std::int64_t rank = -1;     // of the job (store_barrier), else of the group; -1: not in the line
  std::int64_t awaited = -1;  // the rank of the group that `rank` waits for
  std::int64_t came = -1;     // store_barrier: processes so far
  std::int64_t size = -1;     // store_barrier: processes that must come
  std::string place{};        // the key of the barrier, the address with its port
  std::optional<std::int64_t> limit_ms{};
  bool over = false;  // the barrier ended well
};
[[nodiscard]] std::optional<SetUpLine> parse_set_up(std::string_view line);

}  // namespace stepscope
