// SPDX-License-Identifier: Apache-2.0
// The memory that this process can still get.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope::comm {

// The minimum of the system's available memory and the memory that the control groups (version 2)
// of this process leave. Absent if neither is known.
[[nodiscard]] std::optional<std::uint64_t> memory_room();

}  // namespace stepscope::comm
