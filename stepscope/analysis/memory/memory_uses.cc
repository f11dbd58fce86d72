// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/memory_uses.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stepscope {
namespace {

using Phase = AllocationPhase;

std::optional<MemoryUse> use_named(std::string_view category) {
  constexpr std::array<std::pair<std::string_view, MemoryUse>, 6> names = {
      {{"parameter", MemoryUse::parameters},
       {"optimizer_state", MemoryUse::optimizer},
       {"gradient", MemoryUse::gradients},
       {"activation", MemoryUse::activations},
       {"temporary", MemoryUse::temporary},
       {"autograd_detail", MemoryUse::temporary}}};
  for (const auto& [name, use] : names)
    if (name == category) return use;
  return std::nullopt;
}

class Uses {
 public:
  Uses(const MemorySnapshot& snapshot, const SnapshotDevice& device,
       std::span<const AllocationSite> sites)
      : snapshot_(snapshot), sites_(sites), python_only_(is_python_only()) {
    phases_.reserve(device.events.size() + 1);
    phases_.push_back(Phase::unknown);
    for (const AllocatorEvent& e : device.events) {
      const Phase here = phase_of(e.stack);
      phases_.push_back(tells(here) ? here : phases_.back());
      if (first_pass_ == never && (here == Phase::forward || here == Phase::backward))
        first_pass_ = static_cast<std::uint32_t>(phases_.size() - 1);
    }
  }

  [[nodiscard]] MemoryUse of(const BlockLife& life) const {
    if (const auto use = use_named(snapshot_.strings[life.category])) return *use;
    const bool kept = life.end == never;
    const Phase freed = kept ? Phase::unknown : freed_in(life);
    if (life.stack == 0 && life.before_trace) {
      if (kept) return MemoryUse::parameters;
      if (sites_[life.free_stack].zeroes_gradients) return MemoryUse::gradients;
      if (freed == Phase::backward) return MemoryUse::activations;
      return freed == Phase::optimizer ? MemoryUse::optimizer : MemoryUse::unknown;
    }
    switch (phase_of(life.stack)) {
      case Phase::setup:
        return kept ? MemoryUse::parameters : MemoryUse::temporary;
      case Phase::optimizer:
        return kept ? MemoryUse::optimizer : MemoryUse::temporary;
      case Phase::backward:
        return freed == Phase::backward ? MemoryUse::temporary : MemoryUse::gradients;
      case Phase::forward:
        return freed == Phase::forward ? MemoryUse::temporary : MemoryUse::activations;
      default:
        if (freed == Phase::backward) return MemoryUse::activations;
        return kept && life.begin < first_pass_ && first_pass_ != never ? MemoryUse::parameters
                                                                        : MemoryUse::unknown;
    }
  }

 private:
  [[nodiscard]] bool is_python_only() const {
    return snapshot_.stacks.size() > 1 &&
           std::ranges::all_of(snapshot_.stacks.frames, [&](const SnapshotFrame& f) {
             const std::string_view file = snapshot_.strings[f.file];
             return file.ends_with(".py") || file.starts_with('<');
           });
  }
  static bool tells(Phase phase) { return phase != Phase::unknown && phase != Phase::other; }
  [[nodiscard]] Phase phase_of(std::uint32_t stack) const {
    return stack == 0 && python_only_ ? Phase::backward : sites_[stack].phase;
  }
  [[nodiscard]] Phase freed_in(const BlockLife& life) const {
    const Phase own = sites_[life.free_stack].phase;
    if (tells(own)) return own;
    const std::uint32_t at = std::min(life.released, life.end);
    return phases_[std::min<std::size_t>(at, phases_.size() - 1)];
  }

  const MemorySnapshot& snapshot_;
  std::span<const AllocationSite> sites_;
  bool python_only_;
  std::vector<Phase> phases_;  // by position: of the last event that tells
  std::uint32_t first_pass_ = never;
};

}  // namespace

std::vector<MemoryUse> memory_uses(const MemorySnapshot& snapshot, const SnapshotDevice& device,
                                   const MemoryReplay& replay,
                                   std::span<const AllocationSite> sites) {
  const Uses uses(snapshot, device, sites);
  std::vector<MemoryUse> out;
  out.reserve(replay.blocks.size());
  for (const BlockLife& life : replay.blocks) out.push_back(uses.of(life));
  return out;
}

}  // namespace stepscope
