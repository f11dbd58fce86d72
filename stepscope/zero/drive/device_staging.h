// SPDX-License-Identifier: Apache-2.0
// Device memory to and from disk, through two pinned buffers of the host: while one is copied, the
// other is written to the file or read from it. For checkpoints. One thread at a time uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/drive/device.h"
#include "stepscope/zero/drive/shard_stores.h"

namespace stepscope::zero {

class DeviceStaging {
 public:
  static constexpr std::size_t buffer_bytes = 4 << 20;

  // `device` must outlive it. The buffers are made at the first use.
  explicit DeviceStaging(Device& device) : device_(device) {}

  [[nodiscard]] Device& device() { return device_; }
  // Calls `write` with consecutive parts of the device's memory, in order.
  using Write = std::function<Result<Done>(std::span<const std::byte>)>;
  [[nodiscard]] Result<Done> to_disk(ShardColumn column, DeviceAddress from, Bytes bytes,
                                     const Write& write);
  // Calls `read` to fill consecutive parts, in order: `at` bytes lie before the part.
  using Read = std::function<Result<Done>(std::uint64_t at, std::span<std::byte>)>;
  [[nodiscard]] Result<Done> from_disk(ShardColumn column, DeviceAddress to, Bytes bytes,
                                       const Read& read);
  // Within the device; returns when it is done.
  [[nodiscard]] Result<Done> copy(DeviceAddress from, DeviceAddress to, Bytes bytes);

  // What was moved since the last call, one entry a buffer, in order. A buffer's way to disk lasts
  // from the begin of its copy to the end of its write; from disk, from the begin of its read to
  // the end of its copy.
  [[nodiscard]] std::vector<ShardMove> take_moves();

 private:
  [[nodiscard]] Result<Done> make_buffers();

  Device& device_;
  std::array<OffloadBuffer, 2> buffers_;
  std::array<PinnedMemory, 2> pinned_;  // after the buffers: unpinned before they are freed
  std::vector<ShardMove> moves_;
};

}  // namespace stepscope::zero
