// SPDX-License-Identifier: Apache-2.0
// Copies of messages. Long copies bypass the caches: an ordinary store would first read each line
// from memory or fetch it from the core that last read it.
#pragma once

#include <cstddef>

namespace stepscope::comm {

// The two ranges must not overlap. Full lines are written by non-temporal stores, with the widest
// of AVX-512, AVX2 and SSE2 that this CPU has. The copy ends with a store fence.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);
// For short messages, and for data that this core reads next.
void copy_cached(std::byte* to, const std::byte* from, std::size_t bytes);

inline void copy_message(std::byte* to, const std::byte* from, std::size_t bytes, bool streaming) {
  if (streaming) return copy_streaming(to, from, bytes);
  copy_cached(to, from, bytes);
}

}  // namespace stepscope::comm
