// SPDX-License-Identifier: Apache-2.0
// A line of the report that PyTorch makes of a timeout with TORCH_NCCL_DESYNC_DEBUG
// (torch/csrc/distributed/c10d/TraceUtils.h). Collectives of a group are counted from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stepscope {

enum class DesyncKind : std::uint8_t {
  timeout,     // "[0] Timeout at collective: ALLREDUCE, #3"
  not_joined,  // "[1, 2] finished collective #2, but didn't join collective #3 (count from 1)"
  unfinished,  // "[1] joined but didn't finish collective #3 (count from 1)"
  never        // "ranks [1] are the lagging ranks … They never joined any collectives"
};

struct DesyncLine {
  DesyncKind kind = DesyncKind::timeout;
  std::vector<int> ranks{};     // of the group
  std::int64_t collective = 0;  // 0: none
  std::string_view operation{};
};
[[nodiscard]] std::optional<DesyncLine> parse_desync(std::string_view line);

}  // namespace stepscope
