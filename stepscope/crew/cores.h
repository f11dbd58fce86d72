// SPDX-License-Identifier: Apache-2.0
// The cores that this thread may run on.
#pragma once

#include <array>
#include <cstdint>

namespace stepscope {

// One bit per core; the first 1024 cores.
using CoreMask = std::array<std::uint64_t, 16>;
[[nodiscard]] CoreMask core_mask();
[[nodiscard]] int count_cores(const CoreMask& mask);
// Lets this thread, and those that it starts from now on, run on these cores. False: the system
// refuses, and nothing has changed.
[[nodiscard]] bool run_on(const CoreMask& mask);
[[nodiscard]] inline int usable_cores() { return count_cores(core_mask()); }

}  // namespace stepscope
