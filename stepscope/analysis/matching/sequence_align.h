// SPDX-License-Identifier: Apache-2.0
// Two ranks' calls on one communicator, in order: which call of one is which of the other, when a
// capture may begin or end in the middle of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// A call, or one message of a fused call, in the order of its communicator.
struct AlignItem {
  std::uint32_t view = 0;
  std::uint32_t call = 0;
  CollectiveKind kind = CollectiveKind::unknown;
  std::string_view dtype;
  std::int64_t elements = -1;
  Ns start{};
  Ns end{};
};

// Whether both may be one collective: kind, type and count agree wherever both are recorded. Counts
// of all-to-alls, gathers and scatters may differ. Returns what differs ("kind", "type", "count"),
// empty when nothing does.
[[nodiscard]] std::string_view disagreement(const AlignItem& a, const AlignItem& b);

struct Alignment {
  std::int64_t shift = 0;    // b[i] is a[i + shift]
  std::size_t pairs = 0;     // calls that have a partner
  std::size_t agreeing = 0;  // of them with the same kind, type and count
  std::size_t together = 0;  // of those that overlap in time, as calls of one collective must
};

// The shift under which most pairs agree and overlap in time, then most agree, then the smallest.
// Absent when no pair agrees. Instants must be comparable. O((a + b) × a few candidate shifts).
[[nodiscard]] std::optional<Alignment> align(std::span<const AlignItem> a,
                                             std::span<const AlignItem> b);

// The place in `a` of each item of `b`; it may lie before a's first (negative) or behind its last,
// where the captures differ. Absent: no counterpart. Found block by block, because records may be
// lost and a rank may have been captured in several windows: the longest run of pairs under the
// best shift, then the same on either side of it. Items between two blocks of one shift are paired
// although they disagree, so that a contradiction is seen. All absent when nothing fits.
[[nodiscard]] std::vector<std::optional<std::int64_t>> place_beside(std::span<const AlignItem> a,
                                                                    std::span<const AlignItem> b);

}  // namespace stepscope
