// SPDX-License-Identifier: Apache-2.0
// Free slots are a stack whose head carries a tag. Without the tag, a slot that is taken, given
// back and taken again between load and exchange would corrupt the stack. Stopped events are a
// stack that only grows until the writer takes all of it, so it needs no tag.
#include "plugins/nccl/event_pool.h"

#include <algorithm>

namespace stepscope::nccl {

void EventPool::limit(std::uint32_t slots) {
  slots_of_shard_ = std::clamp(slots / shard_count, 1U, shard_slots);
}

std::uint32_t EventPool::pop(std::uint32_t number) {
  Shard& shard = shards_[number];
  std::uint64_t head = shard.free.load(std::memory_order_acquire);
  while ((head & none) != 0) {
    const auto index = static_cast<std::uint32_t>(head & none) - 1;
    const std::uint64_t below = slot(index).next.load(std::memory_order_relaxed);
    const std::uint64_t tag = (head >> 32U) + 1;
    if (shard.free.compare_exchange_weak(head, tag << 32U | below, std::memory_order_acquire))
      return index;
  }
  std::uint32_t fresh = shard.fresh.load(std::memory_order_relaxed);
  while (fresh < slots_of_shard_) {
    if (!shard.fresh.compare_exchange_weak(fresh, fresh + 1, std::memory_order_acq_rel)) continue;
    return number * shard_slots + fresh;
  }
  return none;
}

void EventPool::give_back(std::uint32_t index) {
  Shard& shard = shards_[index / shard_slots];
  std::uint64_t head = shard.free.load(std::memory_order_relaxed);
  std::uint64_t mine = 0;
  do {
    slot(index).next.store(static_cast<std::uint32_t>(head & none), std::memory_order_relaxed);
    mine = (head >> 32U) << 32U | (index + 1);
  } while (!shard.free.compare_exchange_weak(head, mine, std::memory_order_release));
}

std::uint32_t EventPool::in_order(std::uint32_t newest) {
  std::uint32_t before = 0;
  while (newest != 0) {
    const std::uint32_t next = slot(newest - 1).next.load(std::memory_order_relaxed);
    slot(newest - 1).next.store(before, std::memory_order_relaxed);
    before = newest;
    newest = next;
  }
  return before;
}

Event* EventPool::take(std::uint32_t thread) {
  constexpr std::uint32_t tries = 4;  // shards; beyond that the pool is as good as empty
  std::uint32_t index = none;
  for (std::uint32_t i = 0; i < tries && index == none; ++i)
    index = pop((thread + i) % shard_count);
  if (index == none) return nullptr;
  Slot& mine = slot(index);
  const std::uint64_t taken = (mine.stamp.load(std::memory_order_relaxed) >> 1U) + 1;
  mine.event.id = taken << index_bits | index;
  return &mine.event;
}

void EventPool::publish(Event& event) {
  const std::uint64_t live = (event.id >> index_bits) << 1U | 1U;
  slot(index_of(event.id)).stamp.store(live, std::memory_order_release);
}

Event* EventPool::find(std::uint64_t handle) {
  const std::uint32_t index = index_of(handle);
  const std::uint64_t live = (handle >> index_bits) << 1U | 1U;
  if (index >= most_slots || slot(index).stamp.load(std::memory_order_acquire) != live)
    return nullptr;
  return &slot(index).event;
}

bool EventPool::stop(std::uint64_t handle, std::int64_t now) {
  const std::uint32_t index = index_of(handle);
  if (index >= most_slots) return false;
  Slot& mine = slot(index);
  std::uint64_t live = (handle >> index_bits) << 1U | 1U;
  if (!mine.stamp.compare_exchange_strong(live, live - 1U, std::memory_order_acq_rel)) return false;
  mine.event.stop = now;
  std::atomic<std::uint32_t>& stopped = shards_[index / shard_slots].stopped;
  std::uint32_t head = stopped.load(std::memory_order_relaxed);
  do {
    mine.next.store(head, std::memory_order_relaxed);
  } while (!stopped.compare_exchange_weak(head, index + 1, std::memory_order_release));
  return true;
}

}  // namespace stepscope::nccl
