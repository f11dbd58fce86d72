// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/gradient_staging.h"

#include <algorithm>
#include <utility>

namespace stepscope::zero {

GradientStaging::GradientStaging(ShardStores& stores, std::size_t slots, Bytes slot,
                                 std::span<std::byte> memory)
    : stores_(stores), slots_(slots) {
  const auto bytes = static_cast<std::size_t>(slot.value);
  check(memory.size() >= slots * bytes, "the slots lie in their memory");
  for (std::size_t i = 0; i < slots; ++i) slots_[i].memory = memory.subspan(i * bytes, bytes);
}

Result<Done> GradientStaging::finish(std::optional<ShardTicket>& ticket) {
  if (!ticket) return Done{};
  return stores_.wait(*std::exchange(ticket, std::nullopt));
}

Result<std::size_t> GradientStaging::take(std::size_t unit, std::int64_t first, std::int64_t count,
                                          bool add) {
  const std::size_t index = next_++ % slots_.size();
  Slot& slot = slots_[index];
  if (auto done = finish(slot.writing); !done) return done.error();
  slot.unit = unit;
  slot.first = first;
  slot.bytes = offload_aligned(
      static_cast<std::uint64_t>(count * stores_.columns().bytes(ShardColumn::gradients)));
  // The previous message may still have to deliver the values that this one adds to.
  slot.to_be_read = add && std::ranges::any_of(slots_, [&](const Slot& other) {
                      return other.taken && other.unit == unit && other.first == first;
                    });
  slot.taken = true;
  if (add && !slot.to_be_read) {
    if (auto done = begin_read(slot); !done) return done.error();
  }
  return index;
}

// Another slot may still be writing the same elements.
Result<Done> GradientStaging::finish_writes_of(const Slot& slot) {
  for (Slot& other : slots_) {
    if (other.unit != slot.unit || other.first != slot.first) continue;
    if (auto done = finish(other.writing); !done) return done;
  }
  return Done{};
}

Result<Done> GradientStaging::begin_read(Slot& slot) {
  slot.to_be_read = false;
  if (auto done = finish_writes_of(slot); !done) return done;
  auto ticket =
      stores_.read(ShardColumn::gradients, slot.unit, slot.first, slot.memory.first(slot.bytes));
  if (!ticket) return ticket.error();
  slot.reading = *ticket;
  return Done{};
}

Result<std::span<std::byte>> GradientStaging::arrived(std::size_t slot) {
  if (slots_[slot].to_be_read) {
    if (auto done = begin_read(slots_[slot]); !done) return done.error();
  }
  if (auto done = finish(slots_[slot].reading); !done) return done.error();
  return slots_[slot].memory.first(slots_[slot].bytes);
}

Result<Done> GradientStaging::store(std::size_t slot) {
  Slot& s = slots_[slot];
  if (auto done = finish_writes_of(s); !done) return done;
  auto ticket = stores_.write(ShardColumn::gradients, s.unit, s.first, s.memory.first(s.bytes));
  if (!ticket) return ticket.error();
  s.writing = *ticket;
  s.taken = false;
  return Done{};
}

Result<Done> GradientStaging::settle() {
  Result<Done> result = Done{};
  for (Slot& slot : slots_) {
    if (auto done = finish(slot.writing); !done && result) result = std::move(done);
  }
  return result;
}

}  // namespace stepscope::zero
