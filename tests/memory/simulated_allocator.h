// SPDX-License-Identifier: Apache-2.0
// A caching allocator after the description of PyTorch's (c10/cuda/CUDACachingAllocator). Requests
// are rounded to 512 bytes. Up to 1 MiB they come from segments of 2 MiB, up to 10 MiB from
// segments of 20 MiB, else from a segment of their own in multiples of 2 MiB. The smallest free
// block that fits is taken and split; free neighbours merge. Without room, unused segments are
// returned to the device. It keeps lists of blocks, as the original does and the replay does not,
// and records the held bytes after each event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::testing {

struct SimFrame {
  std::string name;
  std::string file;
  int line = 0;
};
using SimStack = std::vector<SimFrame>;  // innermost first

struct SimEvent {
  std::string action;
  std::uint64_t address = 0;  // for oom: free bytes of the device
  std::int64_t size = 0;
  std::uint64_t stream = 0;
  std::int64_t time_us = 0;
  std::size_t stack = 0;  // index in SimulatedAllocator::stacks
};

struct SimBlock {
  std::int64_t size = 0;
  std::int64_t requested = 0;
  enum class State : std::uint8_t { free, active, pending } state = State::free;
  std::size_t stack = 0;
};

struct SimSegment {
  std::uint64_t stream = 0;
  bool large = true;
  bool expandable = false;
  std::int64_t size = 0;
  std::map<std::uint64_t, SimBlock> blocks;  // by address, adjacent
};

// Held bytes after an event.
struct SimTotals {
  std::int64_t live = 0;
  std::int64_t requested = 0;
  std::int64_t reserved = 0;
};

class SimulatedAllocator {
 public:
  // `capacity` of the device in bytes.
  SimulatedAllocator(std::int64_t capacity, bool expandable);

  std::size_t stack(SimStack frames);
  void at(std::int64_t time_us) { now_us_ = time_us; }
  // The address, or nothing without room.
  std::optional<std::uint64_t> allocate(std::int64_t bytes, std::uint64_t stream,
                                        std::size_t stack);
  // `later`: another stream still uses it; finish() frees it.
  void free(std::uint64_t address, std::size_t stack, bool later = false);
  void finish(std::uint64_t address);
  void empty_cache(std::size_t stack);

  std::vector<SimStack> stacks{SimStack{}};
  std::vector<SimEvent> events;
  std::vector<SimTotals> totals;                 // before the first event, and after each
  std::map<std::uint64_t, SimSegment> segments;  // by address
  std::uint64_t retries = 0;
  bool expandable = false;

 private:
  SimSegment* find_free(std::int64_t size, std::uint64_t stream, bool large,
                        std::uint64_t& address);
  bool grow(std::int64_t size, std::uint64_t stream, bool large, std::size_t stack);
  bool grow_expandable(std::int64_t size, std::uint64_t stream, bool large, std::size_t stack);
  void release_unused(std::size_t stack);
  void merge_around(SimSegment& segment, std::uint64_t address);
  void emit(const char* action, std::uint64_t address, std::int64_t size, std::uint64_t stream,
            std::size_t stack);

  std::int64_t capacity_;
  std::int64_t now_us_ = 1'700'000'000'000'000;
  SimTotals now_;
  std::uint64_t next_address_ = 0x7f0000000000;
};

}  // namespace stepscope::testing
