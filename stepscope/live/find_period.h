// SPDX-License-Identifier: Apache-2.0
// The period of a sequence: how many of a communicator's collectives make a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stepscope {

// The smallest p such that the last 3 p values (at least `least` of them) repeat every p values.
// Absent if there is none: the sequence is too short or has no such period. O(n²) at worst, about
// O(n) for sequences that differ early.
[[nodiscard]] std::optional<std::size_t> find_period(std::span<const std::uint64_t> values,
                                                     std::size_t least = 24);

}  // namespace stepscope
