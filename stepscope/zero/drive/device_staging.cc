// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/device_staging.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace stepscope::zero {
namespace {

constexpr DeviceQueue staging_queue = DeviceQueue::checkpoint;

Ns staging_now() {
  return std::chrono::duration_cast<Ns>(std::chrono::steady_clock::now().time_since_epoch());
}

// A copy from or to one of the buffers.
struct StagedCopy {
  DeviceTicket ticket{};
  std::span<std::byte> memory{};
  Ns read{};  // begin of the read from disk
};

}  // namespace

Result<Done> DeviceStaging::make_buffers() {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].size() > 0) continue;
    OffloadBuffer buffer(buffer_bytes);
    auto pinned = PinnedMemory::pin(device_, buffer.bytes());
    if (!pinned) return pinned.error();
    buffers_[i] = std::move(buffer);
    pinned_[i] = *std::move(pinned);
  }
  return Done{};
}

// The next part is copied while `write` has the one before. After an error the copies that have
// begun are waited for, because they write into the buffers.
Result<Done> DeviceStaging::to_disk(ShardColumn column, DeviceAddress from, Bytes bytes,
                                    const Write& write) {
  if (auto made = make_buffers(); !made) return made;
  const auto all = static_cast<std::uint64_t>(bytes.value);
  std::optional<StagedCopy> next;
  std::uint64_t begun = 0;
  std::size_t buffer = 0;
  const auto begin = [&]() -> Result<Done> {
    next.reset();
    if (begun == all) return Done{};
    const auto part =
        buffers_[buffer].bytes().first(std::min<std::uint64_t>(buffer_bytes, all - begun));
    const auto ticket = device_.copy_to_host(staging_queue, from + begun, part);
    if (!ticket) return ticket.error();
    next = StagedCopy{.ticket = *ticket, .memory = part};
    begun += part.size();
    buffer = 1 - buffer;
    return Done{};
  };
  Result<Done> result = begin();
  while (result && next) {
    const StagedCopy arriving = *next;
    const auto copied = device_.wait(arriving.ticket);
    result = begin();
    if (!copied) result = copied.error();
    if (result) result = write(arriving.memory);
    if (!result) break;
    moves_.push_back({.column = column,
                      .direction = TransferDirection::device_to_nvme,
                      .bytes = {static_cast<std::int64_t>(arriving.memory.size())},
                      .begin = copied->begin,
                      .end = staging_now()});
  }
  if (!result && next) (void)device_.wait(next->ticket);
  return result;
}

// The next part is read while the one before is copied.
Result<Done> DeviceStaging::from_disk(ShardColumn column, DeviceAddress to, Bytes bytes,
                                      const Read& read) {
  if (auto made = make_buffers(); !made) return made;
  const auto all = static_cast<std::uint64_t>(bytes.value);
  std::array<std::optional<StagedCopy>, 2> copies;
  const auto finish = [&](std::optional<StagedCopy>& copy) -> Result<Done> {
    if (!copy) return Done{};
    const StagedCopy ending = *std::exchange(copy, std::nullopt);
    const auto copied = device_.wait(ending.ticket);
    if (!copied) return copied.error();
    moves_.push_back({.column = column,
                      .direction = TransferDirection::nvme_to_device,
                      .bytes = {static_cast<std::int64_t>(ending.memory.size())},
                      .begin = ending.read,
                      .end = copied->end});
    return Done{};
  };
  Result<Done> result = Done{};
  std::size_t buffer = 0;
  for (std::uint64_t at = 0; result && at < all; buffer = 1 - buffer) {
    result = finish(copies[buffer]);
    if (!result) break;
    const auto part =
        buffers_[buffer].bytes().first(std::min<std::uint64_t>(buffer_bytes, all - at));
    const Ns begin = staging_now();
    result = read(at, part);
    if (!result) break;
    const auto ticket = device_.copy_to_device(staging_queue, to + at, part);
    if (!ticket) {
      result = ticket.error();
      break;
    }
    copies[buffer] = StagedCopy{.ticket = *ticket, .memory = part, .read = begin};
    at += part.size();
  }
  for (int i = 0; i < 2; ++i, buffer = 1 - buffer) {  // in the order of their begin
    auto ended = finish(copies[buffer]);
    if (result) result = std::move(ended);
  }
  return result;
}

Result<Done> DeviceStaging::copy(DeviceAddress from, DeviceAddress to, Bytes bytes) {
  const auto ticket = device_.copy_within(staging_queue, from, to, bytes);
  if (!ticket) return ticket.error();
  const auto copied = device_.wait(*ticket);
  if (!copied) return copied.error();
  return Done{};
}

std::vector<ShardMove> DeviceStaging::take_moves() { return std::exchange(moves_, {}); }

}  // namespace stepscope::zero
