// SPDX-License-Identifier: Apache-2.0
// A device that several processes use takes turns between them. One whose queue has run empty loses
// the device for the others' time slice: it stands idle for that long, whatever is launched
// meanwhile. Such stretches last as long as one another, however late the launches come; by that
// they are known.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

// A device ran nothing from `since` to `until`, when an operation began that, by its launch and its
// stream, could have begun at `ready`.
struct IdleStretch {
  Ns since{};
  Ns until{};
  Ns ready{};
};

// Shorter ones are what lies between operations anyway.
inline constexpr Ns least_idle_stretch = std::chrono::microseconds{20};

// Work that has been ready for so long, so often, was held back by another process.
inline constexpr Ns held_long = std::chrono::microseconds{200};
inline constexpr std::size_t held_often = 10;

// Which of one device's stretches (rows, ascending) were another process's time slice. Empty unless
// three quarters of them last as long as their median, give or take a tenth of it; it is 500 µs or
// more; and ten of those had work that was ready for 200 µs.
[[nodiscard]] std::vector<std::size_t> find_holds(std::span<const IdleStretch> stretches);

}  // namespace stepscope
