// SPDX-License-Identifier: Apache-2.0
// Aligns two ranks' calls on one communicator, in order. Each capture may begin or end in the
// middle of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// A call, or one message of a fused call, in the order of its communicator.
struct AlignItem {
  std::uint32_t view = 0;
  std::uint32_t call = 0;
  CollectiveKind kind = CollectiveKind::unknown;
  std::string_view dtype;
  std::int64_t elements = -1;
  Ns start{};  // by a clock of all views
  Ns end{};
};
// Row `c` of the calls of a view, whose clock `clock` corrects but for `slack`.
[[nodiscard]] AlignItem item_of(std::uint32_t view, std::uint32_t c, const CollectiveCall& call,
                                const ClockCorrection& clock, Ns slack = {});

// Compares two calls that may be one collective: kind, type and count must agree if both record
// them. Counts of all-to-alls, gathers and scatters may differ. Returns the differing field
// ("kind", "type", "count"), or an empty text.
[[nodiscard]] std::string_view disagreement(const AlignItem& a, const AlignItem& b);

struct Alignment {
  std::int64_t shift = 0;    // b[i] is a[i + shift]
  std::size_t pairs = 0;     // calls with a partner
  std::size_t agreeing = 0;  // pairs of the same kind, type and count
  std::size_t together = 0;  // agreeing pairs that overlap in time, as one collective's calls must
};

// The shift under which most pairs agree and overlap in time; then most agree; then the smallest.
// Absent if no pair agrees. Instants must be comparable. O((a + b) × a few candidate shifts).
[[nodiscard]] std::optional<Alignment> align(std::span<const AlignItem> a,
                                             std::span<const AlignItem> b);

// Whether nine calls in ten agree and overlap, of at least half of the shorter sequence.
[[nodiscard]] bool run_together(std::span<const AlignItem> a, std::span<const AlignItem> b);

// The index in `a` of each item of `b`. It may be negative or beyond a's last where the captures
// differ. Absent: no counterpart. Blocks are found one by one, because records may be lost and a
// rank may be captured in several windows: first the longest run of pairs under the best shift,
// then the same on either side of it. Items between two blocks of one shift are paired even if they
// disagree, so contradictions show. All absent if nothing fits.
using Places = std::vector<std::optional<std::int64_t>>;
[[nodiscard]] Places place_beside(std::span<const AlignItem> a, std::span<const AlignItem> b);

// Places the calls of one communicator by the numbered steps that launched them. All ranks run the
// same program, so the k-th call of step n on one rank is the k-th call of step n on the others,
// whatever their clocks say.

struct StepItem {
  std::optional<std::int64_t> step{};  // number of the step that launched the call
  Ns end{};                            // of the call
};

// By sequence and item: the place among all calls of the steps, ascending; absent for calls outside
// the steps, and for steps in which the sequence has another number of calls than most. Absent as a
// whole if most calls find no place, or if the ends of two sequences lie further apart than a
// quarter of `step_length` in the median: then the numbers mean different steps.
[[nodiscard]] std::optional<std::vector<Places>> places_by_step(
    std::span<const std::vector<StepItem>> sequences, Ns step_length);

// Number of the annotated step that launched a call; absent outside of numbered steps.
[[nodiscard]] std::optional<std::int64_t> launching_step(const RankView& view,
                                                         const CollectiveCall& call);
// The mean length of the steps of a view; absent without steps.
[[nodiscard]] std::optional<Ns> mean_step_of(const RankView& view);

}  // namespace stepscope
