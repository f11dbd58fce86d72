// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/offload_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace stepscope::zero {

OffloadBuffer::OffloadBuffer(std::size_t bytes) : size_(offload_aligned(bytes)) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): make_unique cannot align
  memory_.reset(new (std::align_val_t{offload_alignment}) std::byte[size_]());
}

namespace {

// Moves the whole store with one operation a buffer in flight.
Result<Done> move_whole(OffloadStore& store, std::span<OffloadBuffer> buffers, bool write) {
  const auto bytes = static_cast<std::uint64_t>(store.size().value);
  std::vector<std::optional<OffloadTicket>> under_way(buffers.size());
  std::size_t slot = 0;
  for (std::uint64_t at = 0; at < bytes; slot = (slot + 1) % buffers.size()) {
    if (under_way[slot]) {
      if (auto done = store.wait(*std::exchange(under_way[slot], std::nullopt)); !done)
        return done.error();
    }
    const auto all = buffers[slot].bytes();
    const auto part = all.first(std::min<std::size_t>(all.size(), bytes - at));
    const auto ticket = write ? store.write(at, part) : store.read(at, part);
    if (!ticket) return ticket.error();
    under_way[slot] = *ticket;
    at += part.size();
  }
  for (auto& ticket : under_way) {
    if (!ticket) continue;
    if (auto done = store.wait(*ticket); !done) return done.error();
  }
  return Done{};
}

}  // namespace

Result<OffloadBandwidth> measure_store(OffloadStore& store, std::span<OffloadBuffer> buffers) {
  for (OffloadBuffer& buffer : buffers) {
    // No zeros: some devices do not store zeros.
    std::uint64_t x = 88172645463325252ULL;
    for (std::byte& b : buffer.bytes()) {
      x ^= x << 13U;
      x ^= x >> 7U;
      x ^= x << 17U;
      b = static_cast<std::byte>(x);
    }
  }
  OffloadBandwidth result{.description = store.description()};
  for (const bool write : {true, false}) {
    const auto begin = std::chrono::steady_clock::now();
    if (auto moved = move_whole(store, buffers, write); !moved) return moved.error();
    const Seconds time = std::chrono::steady_clock::now() - begin;
    (write ? result.write : result.read) = store.size() / time;
  }
  return result;
}

}  // namespace stepscope::zero
