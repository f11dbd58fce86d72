// SPDX-License-Identifier: Apache-2.0
// For stage 3 with parameters in a file. This rank's block of each unit is read into memory ahead
// of its all-gather, in the plan's fetch order.
//
//   blocks.begin(plan.step_fetches);    // the first blocks are on their way
//   auto block = blocks.take(unit);     // waits until it is there
//   …                                   // the all-gather reads it
//   blocks.give_back();                 // of the oldest that was taken: the next is read there
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

class BlockReader {
 public:
  // Unit u's block has elements[u] elements. `memory` has room for `slots` slots of `slot` bytes
  // each: whole blocks of the file, enough for the longest unit. `stores` must outlive the reader.
  BlockReader(ShardStores& stores, std::vector<std::int64_t> elements, std::size_t slots,
              Bytes slot, std::span<std::byte> memory);

  // The units in the order of their take(). The caller keeps the list until the last take().
  // Earlier blocks that were read but not taken are discarded.
  [[nodiscard]] Result<Done> begin(std::span<const std::size_t> order);
  // Whether all slots are taken. If so, give one back before the next take().
  [[nodiscard]] bool full() const { return taken_ == given_back_ + slots_.size(); }
  [[nodiscard]] Result<std::span<const std::byte>> take(std::size_t unit);
  [[nodiscard]] Result<Done> give_back();

 private:
  struct Slot {
    std::span<std::byte> memory{};
    std::optional<ShardTicket> reading{};
  };
  [[nodiscard]] Result<Done> read_ahead();

  ShardStores& stores_;
  std::vector<std::int64_t> elements_;
  std::vector<Slot> slots_;
  std::span<const std::size_t> order_{};
  // Indices into order_. Number i uses slot i modulo the number of slots.
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  std::size_t given_back_ = 0;
};

}  // namespace stepscope::zero
