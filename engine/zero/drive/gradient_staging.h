// SPDX-License-Identifier: Apache-2.0
// Writes reduced gradients to their file. Each message's part is written from a slot of its own
// while the passes continue. If micro-batches accumulate, the part is first read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/zero/drive/shard_stores.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

class GradientStaging {
 public:
  // `memory` has room for `slots` slots of `slot` bytes each (whole blocks of the file). `stores`
  // must outlive it.
  GradientStaging(ShardStores& stores, std::size_t slots, Bytes slot, std::span<std::byte> memory);

  // Takes the next slot for elements [first, first + count) of the unit's shard. Waits for the
  // slot's earlier write. With `add`, begins to read the file's values of these elements into the
  // slot. Slots are stored in the order in which they are taken.
  [[nodiscard]] Result<std::size_t> take(std::size_t unit, std::int64_t first, std::int64_t count,
                                         bool add);
  // The slot's memory, after the wait for its read.
  [[nodiscard]] Result<std::span<std::byte>> arrived(std::size_t slot);
  // Begins to write the slot.
  [[nodiscard]] Result<Done> store(std::size_t slot);
  // Waits until everything is in the file.
  [[nodiscard]] Result<Done> settle();

 private:
  struct Slot {
    std::span<std::byte> memory{};
    std::size_t unit = 0;
    std::int64_t first = 0;
    std::size_t bytes = 0;    // of whole blocks
    bool taken = false;       // taken and not stored yet
    bool to_be_read = false;  // after an earlier slot has stored the same elements
    std::optional<ShardTicket> reading{};
    std::optional<ShardTicket> writing{};
  };
  [[nodiscard]] Result<Done> finish_writes_of(const Slot& slot);
  [[nodiscard]] Result<Done> begin_read(Slot& slot);
  [[nodiscard]] Result<Done> finish(std::optional<ShardTicket>& ticket);

  ShardStores& stores_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

}  // namespace stepscope::zero
