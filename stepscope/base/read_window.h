// SPDX-License-Identifier: Apache-2.0
// How much of a file a reader takes at once. Little in a fuzz build: what small inputs do then at a
// window's end, large ones do elsewhere.
#pragma once

#include <cstddef>

namespace stepscope {

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::size_t window_bytes = 1 << 10;
#else
inline constexpr std::size_t window_bytes = 1 << 20;
#endif

}  // namespace stepscope
