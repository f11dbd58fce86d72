// SPDX-License-Identifier: Apache-2.0
// A memory snapshot of PyTorch's caching allocator (torch.cuda.memory._snapshot): its segments and
// their blocks at one instant. If history was recorded, it also holds the events before that
// instant. Sizes of events are requested bytes; sizes of blocks are allocated bytes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"

namespace stepscope {

struct SnapshotFrame {
  StringId name{};
  StringId file{};
  std::int32_t line = 0;

  bool operator==(const SnapshotFrame&) const = default;
};

// Call stacks, each stored once, innermost frame first. Stack 0 is "not recorded".
struct SnapshotStacks {
  std::vector<SnapshotFrame> frames{};     // each stored once
  std::vector<std::uint32_t> begin{0, 0};  // of stack i in `of`; one more entry than stacks
  std::vector<std::uint32_t> of{};         // indices into `frames`

  [[nodiscard]] std::size_t size() const { return begin.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::uint32_t stack) const {
    return std::span(of).subspan(begin[stack], begin[stack + 1] - begin[stack]);
  }
};

enum class BlockState : std::uint8_t {
  inactive,  // cached
  active,    // used by a tensor
  pending    // freed, but another stream may still use it
};

struct SnapshotBlock {
  std::uint64_t address = 0;
  Bytes size{};
  Bytes requested{};  // for inactive blocks: requested by the last owner
  BlockState state = BlockState::inactive;
  std::uint32_t stack = 0;  // of the allocation
  StringId category{};      // as in the file; mostly empty
};

using MemoryPool = std::pair<std::int64_t, std::int64_t>;  // (0, 0): the default pool

// A range of device memory: one cudaMalloc, or adjacent mapped pages of an expandable segment.
struct SnapshotSegment {
  std::uint64_t address = 0;
  Bytes size{};
  std::uint64_t stream = 0;
  MemoryPool pool{};
  bool large = true;  // for requests above 1 MiB
  bool expandable = false;
  std::uint32_t stack = 0;
  std::uint32_t first_block = 0;  // index in SnapshotDevice::blocks
  std::uint32_t blocks = 0;
};

enum class AllocatorAction : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,    // an expandable segment grows
  segment_unmap,  // an expandable segment returns pages
  oom,
  snapshot,
  other
};
inline constexpr std::size_t allocator_action_count = 10;
// Names as the files write them.
[[nodiscard]] std::string_view name_of(AllocatorAction action);

struct AllocatorEvent {
  AllocatorAction action = AllocatorAction::other;
  std::uint64_t address = 0;  // for oom: free bytes on the device
  Bytes size{};
  std::uint64_t stream = 0;
  MemoryPool pool{};
  Ns time{};  // UNIX; 0: not recorded
  std::uint32_t stack = 0;
  StringId category{};
};

// One end of a named range of the program (record_function, optimizer steps).
struct MemoryMark {
  Ns time{};
  StringId name{};
  bool begins = true;
};

inline constexpr int pinned_host_memory = -1;

struct SnapshotDevice {
  int device = 0;                           // or pinned_host_memory
  std::vector<SnapshotSegment> segments{};  // by address
  std::vector<SnapshotBlock> blocks{};      // by address
  std::vector<AllocatorEvent> events{};     // in time order
  std::vector<MemoryMark> marks{};
};

struct AllocatorSettings {
  bool recorded = false;
  std::string text{};  // PYTORCH_CUDA_ALLOC_CONF
  bool expandable_segments = false;
  Bytes max_split_size{-1};  // larger blocks are never split; -1: no limit
  // Sizes from 2^(20+i) bytes on are rounded up to this fraction of a power of two. 0 and 1: to 512
  // bytes.
  std::vector<std::int64_t> roundup_divisions{};
};

struct MemorySnapshot {
  std::string path{};
  std::string format{};  // "pickle", "JSON", "page"
  std::uint64_t bytes = 0;
  StringPool strings{};
  SnapshotStacks stacks{};
  AllocatorSettings settings{};
  std::vector<SnapshotDevice> devices{};         // devices that hold or held memory, by number
  std::map<std::string, std::uint64_t> notes{};  // entries that could not be used, by reason
};

}  // namespace stepscope
