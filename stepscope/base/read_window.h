// SPDX-License-Identifier: Apache-2.0
// The number of bytes that a reader takes at once. It is small in a fuzz build, so that small
// inputs cross the ends of windows as large inputs do elsewhere.
#pragma once

#include <cstddef>

namespace stepscope {

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::size_t window_bytes = 1 << 10;
#else
inline constexpr std::size_t window_bytes = 1 << 20;
#endif

}  // namespace stepscope
