// SPDX-License-Identifier: Apache-2.0
// A line in which a framework says that a device had no room for an allocation: PyTorch's allocator
// of every version (c10/cuda/CUDACachingAllocator.cpp, also for HIP, XPU and NPU), errors of CUDA,
// HIP, XPU and Gaudi without sizes, TensorFlow's allocator, XLA while a program is compiled and
// while it runs.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "stepscope/event/oom_message.h"

namespace stepscope {

// Words of the lines of parse_oom() for which incident_log.cc does not look yet.
inline constexpr std::array<std::string_view, 6> more_oom_words = {
    "memory mapping failed with OOM",
    "PT_DEVMEM Allocation",
    "OUT_OF_DEVICE_MEMORY",
    "OOM when allocating tensor",
    "Limit:         ",
    "on startup is less than desired GPU"};

// Other text may stand around the message. Rank, place and count are not set.
[[nodiscard]] std::optional<OomMessage> parse_oom(std::string_view line);

// Whether the message ends before its last size: the rest may stand on the next lines.
[[nodiscard]] bool is_cut_oom(const OomMessage& message);

// The message with what the next lines add: a terminal or a page may have cut it, and XLA lists
// what a program takes. `plain` gives a line without what its launcher has put in front of it.
[[nodiscard]] OomMessage whole_oom(OomMessage message, std::string_view line,
                                   std::string_view behind,
                                   const std::function<std::string_view(std::string_view)>& plain);

}  // namespace stepscope
