// SPDX-License-Identifier: Apache-2.0
// Time along the user's own ranges: phase → annotations and modules → operators → kernels, merged
// by path over all steps and threads. A device operation is a child of the deepest row around its
// launch call; without a launch call, of the GPU annotation around it. Step annotations are not
// ranges. Annotations whose names differ by a number that counts calls are one (range_names.h).
// A row of a communication backend in a CPU-only trace lasts while its message is in flight,
// whatever its thread does meanwhile (rank_index.h): it stands at the top, in no range and around
// none.
//
// A phase node is inserted where the path enters the phase: above the outermost row inside one
// phase. `host` sums the rows of a node. `device` sums the device operations below the node
// (overlapping operations count twice), so a parent's `device` is the sum of its children's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

enum class RangeKind : std::uint8_t { phase, annotation, module, operation, kernel };
inline constexpr std::size_t range_kind_count = 5;
inline constexpr std::array<std::string_view, range_kind_count> range_kind_names = {
    "phase", "annotation", "module", "operator", "kernel"};
static_assert(range_kind_names[static_cast<std::size_t>(RangeKind::kernel)] == "kernel");

struct RangeNode {
  std::string name;
  RangeKind kind = RangeKind::phase;
  std::uint64_t count = 0;  // number of rows; for a phase, rows directly below it
  Ns host{};
  Ns device{};
  std::vector<RangeNode> children{};  // most device time first, then host time
};

struct RangeLimits {
  std::size_t depth = 12;     // levels; deeper rows count for the deepest kept range
  std::size_t children = 16;  // per node, in addition to "(n more)" with the sum of the rest
};

// Counts host rows that start inside a step, and device operations that start inside a step.
[[nodiscard]] std::vector<RangeNode> range_tree(const Trace& trace, const RankIndex& rank,
                                                std::span<const Step> steps,
                                                const HostPhases& phases,
                                                const RangeLimits& limits = {});

}  // namespace stepscope
