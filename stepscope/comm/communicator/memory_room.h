// SPDX-License-Identifier: Apache-2.0
// How much memory this process can still get.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope::comm {

// The least of what the system has available and what the control groups (version 2) of this
// process leave; absent where neither says.
[[nodiscard]] std::optional<std::uint64_t> memory_room();

}  // namespace stepscope::comm
