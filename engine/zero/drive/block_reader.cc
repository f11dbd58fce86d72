// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/block_reader.h"

#include <algorithm>
#include <utility>

namespace stepscope::zero {

BlockReader::BlockReader(ShardStores& stores, std::vector<std::int64_t> elements, std::size_t slots,
                         Bytes slot, std::span<std::byte> memory)
    : stores_(stores), elements_(std::move(elements)), slots_(slots) {
  const auto bytes = static_cast<std::size_t>(slot.value);
  check(memory.size() >= slots * bytes, "the slots lie in their memory");
  for (std::size_t i = 0; i < slots; ++i) slots_[i].memory = memory.subspan(i * bytes, bytes);
}

Result<Done> BlockReader::begin(std::span<const std::size_t> order) {
  for (Slot& slot : slots_) {
    if (!slot.reading) continue;
    if (auto done = stores_.wait(*std::exchange(slot.reading, std::nullopt)); !done) return done;
  }
  order_ = order;
  begun_ = taken_ = given_back_ = 0;
  return read_ahead();
}

Result<Done> BlockReader::read_ahead() {
  const std::size_t end = std::min(order_.size(), given_back_ + slots_.size());
  for (; begun_ < end; ++begun_) {
    const std::size_t unit = order_[begun_];
    Slot& slot = slots_[begun_ % slots_.size()];
    const auto bytes = offload_aligned(static_cast<std::uint64_t>(
        elements_[unit] * stores_.columns().bytes(ShardColumn::parameters)));
    auto ticket = stores_.read(ShardColumn::parameters, unit, 0, slot.memory.first(bytes));
    if (!ticket) return ticket.error();
    slot.reading = *ticket;
  }
  return Done{};
}

Result<std::span<const std::byte>> BlockReader::take(std::size_t unit) {
  check(!full() && taken_ < order_.size() && order_[taken_] == unit,
        "blocks are taken in the order that was begun");
  Slot& slot = slots_[taken_++ % slots_.size()];
  if (auto done = stores_.wait(*std::exchange(slot.reading, std::nullopt)); !done)
    return done.error();
  const std::int64_t bytes = elements_[unit] * stores_.columns().bytes(ShardColumn::parameters);
  return std::span<const std::byte>(slot.memory.first(static_cast<std::size_t>(bytes)));
}

Result<Done> BlockReader::give_back() {
  check(given_back_ < taken_, "a block that was taken is given back");
  ++given_back_;
  return read_ahead();
}

}  // namespace stepscope::zero
