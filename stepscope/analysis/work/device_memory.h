// SPDX-License-Identifier: Apache-2.0
// Blocks of memory: an allocation paired with the free of its address, and the use of the block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/model_state.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The use of a block. It is inferred from the times of allocation and free; it is never recorded.
// Bytes that are older than the trace and never freed have no rows. What of them is the model's
// state follows from other rows (model_state.h).
//   parameters   the weights; or allocated before the first forward, or before a weight, and never
//                freed
//   masters      copies of the weights in the optimizer's format
//   optimizer    allocated by the optimizer and never freed; its moments
//   gradients    allocated in a backward and alive after it, or older than the trace and freed by
//                the optimizer
//   activations  allocated in a forward (or recompute) and alive after it, or older than the trace
//                and freed in a backward
//   casts        copies of parameters in autocast's format (only in snapshots of the allocator)
//   temporary    freed in the stretch of the phase that allocated it, or allocated by the optimizer
//                and freed
//   older        before the recording: never freed, and no row shows its use
//   unknown      the rest
enum class MemoryUse : std::uint8_t {
  parameters,
  masters,
  gradients,
  optimizer,
  activations,
  casts,
  temporary,
  older,
  unknown
};
inline constexpr auto memory_use_names = enum_names<MemoryUse::unknown>;
inline constexpr std::size_t memory_use_count = memory_use_names.size();

struct MemoryBlock {
  std::optional<Ns> allocated;  // empty: before the first event
  std::optional<Ns> freed;      // empty: not in the trace
  Bytes bytes{};
  bool of_model = false;  // a weight, or made and kept before one (mark_weights)
};

struct MemoryBlocks {
  std::vector<MemoryBlock> blocks;
  std::uint64_t unmatched_frees = 0;
  std::vector<Bytes> held;  // parallel to rows: the bytes of all blocks alive after each
};

// Pairs the events of one device; `rows` are in time order. If an address is allocated twice, the
// free in between was lost: the first block ends where the second begins. Blocks are ordered by
// their end; blocks that are never freed come last. O(N).
[[nodiscard]] MemoryBlocks memory_blocks(const MemoryEvents& memory,
                                         std::span<const std::uint32_t> rows);

// The bytes of each use among the blocks alive at an instant. Any part of `total` beyond the blocks
// is older than the trace. Empty if the blocks exceed the total. `phases` are disjoint and in time
// order; adjacent stretches of one phase are joined.
[[nodiscard]] std::optional<std::array<Bytes, memory_use_count>> composition_at(
    std::span<const MemoryBlock> blocks, std::span<const PhaseSpan> phases, Ns instant,
    Bytes total);

[[nodiscard]] MemoryUse use_of(const MemoryBlock& block, std::span<const PhaseSpan> phases);

// Finds the blocks of the weights if the model was made in the recording: allocated before the
// first backward, never freed, of the size of a weight. The earliest of equal ones counts. True if
// each weight has its block; else a size proves nothing and no block is marked. `weights` are
// ordered, largest first. Allocators round sizes up: `slack` is the most that a block has beyond
// the requested bytes.
[[nodiscard]] bool mark_weights(std::span<MemoryBlock> blocks, std::span<const Bytes> weights,
                                std::span<const PhaseSpan> phases, Bytes (*slack)(Bytes));

// Memory use from the allocator's events ([memory] instants) and the copies of a trace.

struct MemoryPoint {
  Ns time{};
  Bytes allocated{};
  std::optional<Bytes> reserved;
};

struct MemoryPhase {
  Phase phase = Phase::other;
  Ns start{};  // a stretch of this phase; adjacent ones are joined
  Ns end{};
  Bytes at_start{};  // allocated after the last event before `start`
  Bytes at_end{};
  Bytes peak{};                     // highest allocated; at least at_start
  std::optional<Bytes> reserved{};  // at the peak; empty if not recorded
  // The reserved bytes at the peak that no tensor has: free blocks of the allocator. Most are
  // cache, which fragmentation is no part of (docs/explanation/memory-snapshots.md).
  [[nodiscard]] std::optional<Bytes> not_allocated() const {
    return reserved && *reserved >= peak ? std::optional(*reserved - peak) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> not_allocated_share() const;  // of `reserved`
};

struct DeviceMemory {
  int device = -1;  // -1 = the host's memory
  Bytes peak_allocated{};
  std::optional<Bytes> peak_reserved;
  Ns peak_time{};
  std::string running_at_peak;    // operator of the allocating thread and kernel, or ""
  std::optional<Bytes> headroom;  // memory of the device − peak reserved (else allocated)
  // Use of memory at the peak; sums to peak_allocated. Empty if the recorded totals contradict the
  // blocks.
  std::optional<std::array<Bytes, memory_use_count>> composition;
  Bytes before_recording{};  // of the peak: without a row of their allocation
  // False if no row has the total of the device, as of the host: what is older than the recording
  // is then in the figures only if a row frees it. `uncounted` is the model's state, if known.
  bool older_counts = true;
  std::optional<Bytes> uncounted{};
  Phase phase_at_peak = Phase::other;
  std::vector<MemoryPhase> phases;
  std::vector<MemoryPoint> timeline;  // at most 2,000 points (thin_out)
  std::uint64_t unmatched_frees = 0;  // frees of blocks whose allocation is not in the trace
};

struct CopyRow {
  std::string direction;  // "HtoD", "DtoD", "PtoP", … ; "memset"
  std::optional<bool>
      pinned{};  // of the host side; empty without one, and if the name does not show it
  std::uint64_t count = 0;
  std::optional<Bytes> bytes{};  // empty unless recorded for every copy
  Ns total{};
  std::optional<ByteRate> bandwidth{};  // over the copies with recorded bytes
};

struct MemoryTable {
  std::optional<ModelState> state{};  // of the model on the rank's device
  std::vector<DeviceMemory> devices;  // by device, host first; empty without [memory] events
  std::vector<CopyRow> copies;        // of the steps, longest first
};

// `phases`: the host's, disjoint and in time order (HostPhases::host). The memory of devices covers
// the whole trace.
[[nodiscard]] MemoryTable memory_table(const Trace& trace, const RankIndex& rank,
                                       std::span<const Step> steps,
                                       std::span<const PhaseSpan> phases);

// Whether a row copies between the host and a device: the link between both moves its bytes.
[[nodiscard]] bool crosses_host(const Trace& trace, SliceId op);
// As recorded. REQUIRES: a copy or memset.
[[nodiscard]] std::optional<Bytes> copied_bytes(const Trace& trace, SliceId op);

// Copies and memsets that start inside the steps, by direction and kind of host memory.
[[nodiscard]] std::vector<CopyRow> copy_table(const Trace& trace, const RankIndex& rank,
                                              std::span<const Step> steps);

// Keeps at most `limit` points (4 or more). The lowest and highest point of each dropped stretch
// stay.
[[nodiscard]] std::vector<MemoryPoint> thin_out(std::span<const MemoryPoint> points,
                                                std::size_t limit);

}  // namespace stepscope
