// SPDX-License-Identifier: Apache-2.0
// The events that NCCL has begun and not ended, and the events that wait for the writer. The number
// of slots is fixed. Slots are taken and given back without locks. If no slot is free, an event is
// counted but not recorded.
//
// A handle is a slot's number and the count of the slot's uses, never an address. A child may
// therefore name its parent after the parent has ended. Stale, foreign and invalid handles are
// recognised.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace stepscope::nccl {

enum class Kind : std::uint8_t {
  group,
  coll,
  p2p,
  proxy_op,
  proxy_step,
  proxy_ctrl,
  kernel_channel,
  net_plugin,
  group_api,
  coll_api,
  p2p_api,
  kernel_launch,
  ce_coll,
  ce_sync,
  ce_batch
};
inline constexpr std::size_t kind_count = 15;  // a Kind is the number of its bit in the mask

// The waits of a proxy step, in the order of `Event::waited_ns`.
enum class Wait : std::uint8_t { send_gpu, send_peer, send_net, recv_net, recv_flush, recv_gpu };
inline constexpr std::size_t wait_count = 6;

struct CallPayload {  // coll, p2p, ce_coll, coll_api, p2p_api
  std::uint64_t nccl_seq;
  std::uint64_t count;
  std::int64_t ordinal;  // of the collective in its communicator, counted here; -1: a message
  std::uint64_t stream;
  std::int32_t peer;  // or the root
  std::uint8_t function;
  std::uint8_t datatype;
  std::uint8_t algorithm;
  std::uint8_t protocol;
  std::uint8_t channels;
  bool graph_captured;
};
struct ProxyPayload {  // proxy_op, proxy_step, proxy_ctrl
  std::uint64_t bytes;
  std::int64_t begun;  // ns; 0 = unknown
  std::int64_t wait_since;
  std::array<std::uint32_t, wait_count> waited_ns;
  std::int32_t peer;
  std::int32_t steps;  // the step's number, of a step
  std::int8_t wait;    // a Wait, or -1
  std::int8_t state;   // the last of the proxy's thread, or -1
  std::uint8_t channel;
  bool sends;
};
struct KernelPayload {
  std::uint64_t gpu_start;  // ns of the GPU's timer; 0 = unknown
  std::uint64_t gpu_stop;
  std::uint8_t channel;
};
struct NetPayload {
  std::uint64_t bytes;
  std::uint64_t request;
  std::int32_t device;
  std::int32_t queue_pair;  // the descriptor of a socket
  std::int32_t operation;
  std::uint16_t type;  // 1 InfiniBand, 2 socket
};
struct OtherPayload {  // group, group_api, kernel_launch, ce_sync, ce_batch
  std::uint64_t stream;
  std::uint64_t bytes;
  std::int32_t number;  // depth, ranks, operations
  bool flag;
};

// Trivial, because it lies in memory that begins as zeros.
struct Event {
  std::uint64_t id;      // its handle
  std::uint64_t parent;  // a handle, or 0
  std::int64_t start;    // ns, CLOCK_MONOTONIC
  std::int64_t stop;
  std::int32_t thread;  // of the start
  std::uint16_t context;
  Kind kind;
  union {
    CallPayload call;
    ProxyPayload proxy;
    KernelPayload kernel;
    NetPayload net;
    OtherPayload other;
  };
};

class EventPool {
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> stamp;  // how often it was taken, times two; odd while it is live
    std::atomic<std::uint32_t> next;
    Event event;
  };

 public:
  static constexpr std::uint32_t shard_count = 16;
  static constexpr std::uint32_t shard_slots = 4096;
  static constexpr std::uint32_t most_slots = shard_count * shard_slots;
  static constexpr std::size_t storage_bytes = most_slots * sizeof(Slot);

  // `memory`: storage_bytes of zeros, aligned to a cache line. It must outlive the pool.
  constexpr explicit EventPool(unsigned char* memory) : memory_(memory) {}

  // Sets the number of usable slots, in [shard_count, most_slots]. Call it before the first take().
  void limit(std::uint32_t slots);

  // Takes a slot with `id` set; the caller owns it until stop(). Null if no slot is free. `thread`
  // spreads threads over shards.
  [[nodiscard]] Event* take(std::uint32_t thread);
  // NCCL may use the handle after this call.
  void publish(Event& event);
  // The event of a live handle; null for any other.
  [[nodiscard]] Event* find(std::uint64_t handle);
  // Ends the event and passes it to the writer. False for a handle that is not live.
  bool stop(std::uint64_t handle, std::int64_t now);

  // Visits all stopped events, each shard's in the order of the stops, and frees them. Only one
  // thread may call it.
  template <class Visit>
  std::size_t drain(Visit visit);
  // Visits events that have begun and not stopped, and frees them. NCCL must be finished.
  template <class Visit>
  std::size_t drain_open(Visit visit);

 private:
  static constexpr unsigned index_bits = 20;
  static constexpr std::uint32_t none = 0xffffffffU;

  struct alignas(64) Shard {
    std::atomic<std::uint64_t> free = 0;  // index + 1 of the first free slot below, a tag above
    alignas(64) std::atomic<std::uint32_t> stopped = 0;  // index + 1 of the newest
    alignas(64) std::atomic<std::uint32_t> fresh = 0;    // slots never taken begin here
  };

  [[nodiscard]] Slot& slot(std::uint32_t index) {
    return *std::launder(reinterpret_cast<Slot*>(memory_) + index);
  }
  [[nodiscard]] static std::uint32_t index_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle & ((1U << index_bits) - 1U));
  }
  [[nodiscard]] std::uint32_t pop(std::uint32_t shard);
  void give_back(std::uint32_t index);
  // Reverses a list of stopped slots that is newest first.
  std::uint32_t in_order(std::uint32_t newest);

  unsigned char* memory_;
  std::uint32_t slots_of_shard_ = shard_slots;
  std::array<Shard, shard_count> shards_ = {};
};

template <class Visit>
std::size_t EventPool::drain(Visit visit) {
  std::size_t visited = 0;
  for (Shard& shard : shards_) {
    std::uint32_t at = in_order(shard.stopped.exchange(0, std::memory_order_acquire));
    while (at != 0) {
      const std::uint32_t next = slot(at - 1).next.load(std::memory_order_relaxed);
      visit(slot(at - 1).event);
      give_back(at - 1);
      at = next;
      ++visited;
    }
  }
  return visited;
}

template <class Visit>
std::size_t EventPool::drain_open(Visit visit) {
  std::size_t visited = 0;
  for (std::uint32_t s = 0; s < shard_count; ++s) {
    const std::uint32_t used = shards_[s].fresh.load(std::memory_order_acquire);
    for (std::uint32_t i = s * shard_slots; i < s * shard_slots + used; ++i) {
      std::uint64_t stamp = slot(i).stamp.load(std::memory_order_acquire);
      if ((stamp & 1U) == 0) continue;
      if (!slot(i).stamp.compare_exchange_strong(stamp, stamp - 1U)) continue;
      visit(slot(i).event);
      give_back(i);
      ++visited;
    }
  }
  return visited;
}

}  // namespace stepscope::nccl
