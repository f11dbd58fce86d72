// SPDX-License-Identifier: Apache-2.0
// Copies of messages. A buffer that another core has read is written with non-temporal stores:
// ordinary stores pay an ownership transfer for each line.
#pragma once

#include <cstddef>

namespace stepscope::comm {

// The memory must not overlap. Non-temporal stores of full lines, by the widest of AVX-512, AVX2
// and SSE2 that this CPU has; ends with a store fence.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);
// For short messages, or what this core reads next.
void copy_cached(std::byte* to, const std::byte* from, std::size_t bytes);

// Above this many bytes a message leaves the caches anyway.
inline constexpr std::size_t streaming_from_bytes = 64 * 1024;

inline void copy_message(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= streaming_from_bytes) return copy_streaming(to, from, bytes);
  copy_cached(to, from, bytes);
}

}  // namespace stepscope::comm
