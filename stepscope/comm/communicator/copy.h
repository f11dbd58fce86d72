// SPDX-License-Identifier: Apache-2.0
// Copies of messages. Long ones go past the caches: ordinary stores would first read each line, or
// fetch it from the core that has read it.
#pragma once

#include <cstddef>

namespace stepscope::comm {

// The memory must not overlap. Non-temporal stores of full lines, by the widest of AVX-512, AVX2
// and SSE2 that this CPU has; ends with a store fence.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);
// For short messages, or what this core reads next.
void copy_cached(std::byte* to, const std::byte* from, std::size_t bytes);

inline void copy_message(std::byte* to, const std::byte* from, std::size_t bytes, bool streaming) {
  if (streaming) return copy_streaming(to, from, bytes);
  copy_cached(to, from, bytes);
}

}  // namespace stepscope::comm
