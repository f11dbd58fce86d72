// SPDX-License-Identifier: Apache-2.0
// Reduced gradients on their way to their file: each message's part is written from a slot of its
// own while the passes go on, and where micro-batches add up it is read back first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/drive/shard_files.h"

namespace stepscope::zero {

class GradientStaging {
 public:
  // `slots` of `slot` bytes each (whole blocks of the file) in `memory`. `files` outlive it.
  GradientStaging(ShardFiles& files, std::size_t slots, Bytes slot, std::span<std::byte> memory);

  // The next slot, for elements [first, first + count) of the unit's shard; waits for what was
  // written from it before. `add`: what the file has of them is on its way into the slot. Slots
  // are taken and stored in the same order.
  [[nodiscard]] Result<std::size_t> take(std::size_t unit, std::int64_t first, std::int64_t count,
                                         bool add);
  // The slot's memory, once it has arrived.
  [[nodiscard]] Result<std::span<std::byte>> arrived(std::size_t slot);
  // Begins to write the slot.
  [[nodiscard]] Result<Done> store(std::size_t slot);
  // All is in the file.
  [[nodiscard]] Result<Done> settle();

 private:
  struct Slot {
    std::span<std::byte> memory{};
    std::size_t unit = 0;
    std::int64_t first = 0;
    std::size_t bytes = 0;    // of whole blocks
    bool taken = false;       // and not stored yet
    bool to_be_read = false;  // once the same elements are stored from an earlier slot
    std::optional<ShardTicket> reading{};
    std::optional<ShardTicket> writing{};
  };
  [[nodiscard]] Result<Done> finish_writes_of(const Slot& slot);
  [[nodiscard]] Result<Done> begin_read(Slot& slot);
  [[nodiscard]] Result<Done> finish(std::optional<ShardTicket>& ticket);

  ShardFiles& files_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

}  // namespace stepscope::zero
