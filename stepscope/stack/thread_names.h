// SPDX-License-Identifier: Apache-2.0
// First frames of stacks that are not functions but processes or threads, as named by py-spy,
// Austin, stackcollapse-perf and the kernel.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

enum class FrameRole : std::uint8_t { function, process, thread };

[[nodiscard]] FrameRole role_of(std::string_view frame);

}  // namespace stepscope
