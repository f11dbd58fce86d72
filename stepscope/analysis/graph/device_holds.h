// SPDX-License-Identifier: Apache-2.0
// Finds time slices of other processes on a shared device. Several processes take turns on a
// device. A process whose queue is empty loses the device for the time slice of the others: its
// work waits for that long, whatever it launches meanwhile. Such stretches have equal lengths,
// however late the launches come. Equal length identifies them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

// A stretch from `since` to `until` in which a device ran nothing. It ends with an operation that,
// by its launch and its stream, could have begun at `ready`.
struct IdleStretch {
  Ns since{};
  Ns until{};
  Ns ready{};
};

// Shorter stretches are usual between operations.
inline constexpr Ns least_idle_stretch = std::chrono::microseconds{20};

// Work that is ready for this long, this often, was held back by another process.
inline constexpr Ns held_long = std::chrono::microseconds{200};
inline constexpr std::size_t held_often = 10;

// The stretches of one device (rows, ascending) that were another process's time slice. Empty
// unless three conditions hold: three quarters of them have the median length, within a tenth; the
// median is at least 500 µs; and ten of those had work that was ready for 200 µs.
[[nodiscard]] std::vector<std::size_t> find_holds(std::span<const IdleStretch> stretches);

}  // namespace stepscope
