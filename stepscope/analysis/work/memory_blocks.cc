// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/memory_blocks.h"

#include <algorithm>
#include <functional>

#include "stepscope/base/key_index.h"

namespace stepscope {
namespace {

// Index of the phase that contains an instant.
std::optional<std::size_t> place_of(std::span<const PhaseSpan> phases, Ns instant) {
  const auto after = std::ranges::upper_bound(phases, instant, {}, &PhaseSpan::start);
  if (after == phases.begin() || instant >= std::prev(after)->end) return std::nullopt;
  return static_cast<std::size_t>(std::prev(after) - phases.begin());
}

Phase phase_of(std::span<const PhaseSpan> phases, std::optional<std::size_t> place) {
  return place ? phases[*place].phase : Phase::other;
}

bool before_first(std::span<const PhaseSpan> phases, Phase phase, Ns instant) {
  const auto first = std::ranges::find(phases, phase, &PhaseSpan::phase);
  return first != phases.end() && instant < first->start;
}

// True if the trace has backwards and none of them ends later.
bool after_last_backward(std::span<const PhaseSpan> phases, Ns instant) {
  bool any = false;
  for (const PhaseSpan& span : phases) {
    if (span.phase != Phase::backward) continue;
    if (span.end > instant) return false;
    any = true;
  }
  return any;
}

// The use of a block that the trace never frees.
MemoryUse use_of_kept(Ns allocated, std::span<const PhaseSpan> phases) {
  switch (phase_of(phases, place_of(phases, allocated))) {
    case Phase::optimizer:
      return MemoryUse::optimizer;
    case Phase::backward:
      return MemoryUse::gradients;
    case Phase::forward:
    case Phase::recompute:  // the trace ends before the backward that would free the block
      return after_last_backward(phases, allocated) ? MemoryUse::activations : MemoryUse::unknown;
    default:
      return before_first(phases, Phase::forward, allocated) ? MemoryUse::parameters
                                                             : MemoryUse::unknown;
  }
}

// The use of a block that is older than the trace.
MemoryUse use_of_inherited(Ns freed, std::span<const PhaseSpan> phases) {
  switch (phase_of(phases, place_of(phases, freed))) {
    case Phase::optimizer:
      return MemoryUse::gradients;
    case Phase::backward:
    case Phase::recompute:
      return MemoryUse::activations;
    default:
      return MemoryUse::unknown;
  }
}

}  // namespace

MemoryUse use_of(const MemoryBlock& block, std::span<const PhaseSpan> phases) {
  if (!block.allocated)
    return block.freed ? use_of_inherited(*block.freed, phases) : MemoryUse::parameters;
  if (!block.freed) return use_of_kept(*block.allocated, phases);
  const auto from = place_of(phases, *block.allocated);
  const auto to = place_of(phases, *block.freed);
  if (from && from == to) return MemoryUse::temporary;
  switch (phase_of(phases, from)) {
    case Phase::forward:
    case Phase::recompute:
      return MemoryUse::activations;
    case Phase::backward:
      return MemoryUse::gradients;
    case Phase::optimizer:
      return MemoryUse::temporary;
    default:
      return MemoryUse::unknown;
  }
}

MemoryBlocks memory_blocks(const MemoryEvents& memory, std::span<const std::uint32_t> rows) {
  KeyIndex<std::uint64_t, std::identity> addresses;
  std::vector<std::optional<MemoryBlock>> open;  // by index of the address
  MemoryBlocks result;
  for (const std::uint32_t row : rows) {
    const auto [number, fresh] = addresses.insert(memory.address[row]);
    if (fresh) open.emplace_back();
    std::optional<MemoryBlock>& block = open[number];
    const Bytes bytes = memory.bytes[row];
    if (bytes.value == 0) continue;
    if (block) {
      block->freed = memory.time[row];
      result.blocks.push_back(*block);
      block.reset();
    } else if (bytes.value < 0) {
      result.blocks.push_back({std::nullopt, memory.time[row], Bytes{-bytes.value}});
      ++result.unmatched_frees;
    }
    if (bytes.value > 0) block = MemoryBlock{memory.time[row], std::nullopt, bytes};
  }
  for (const std::optional<MemoryBlock>& block : open)
    if (block) result.blocks.push_back(*block);
  return result;
}

std::optional<std::array<Bytes, memory_use_count>> composition_at(
    std::span<const MemoryBlock> blocks, std::span<const PhaseSpan> phases, Ns instant,
    Bytes total) {
  std::array<Bytes, memory_use_count> uses{};
  Bytes known{};
  for (const MemoryBlock& block : blocks) {
    if (block.allocated && *block.allocated > instant) continue;
    if (block.freed && *block.freed <= instant) continue;
    uses[static_cast<std::size_t>(use_of(block, phases))] += block.bytes;
    known += block.bytes;
  }
  if (known > total) return std::nullopt;
  uses[static_cast<std::size_t>(MemoryUse::parameters)] += total - known;
  return uses;
}

}  // namespace stepscope
