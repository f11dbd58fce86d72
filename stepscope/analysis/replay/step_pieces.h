// SPDX-License-Identifier: Apache-2.0
// The work of steps in pieces that other steps and other ranks have too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// A host, launch, compute, copy, transfer or unjoined communication node that may move. Two pieces
// of one key are the same: kind, name, part of the row and occurrence within the step are equal.
// Work within a row divides it into parts, in some steps and not in others, so parts are numbered
// by their length: the longest is the row's own work in all of them.
struct StepPiece {
  std::uint64_t key = 0;
  std::uint32_t node = 0;
  std::int32_t step = -1;  // launch_step() of its row
};

struct StepPieces {
  std::vector<StepPiece> all;      // by view, then by node
  std::vector<std::uint8_t> part;  // of its row, parallel to `all`: the longest is 0, the last 255
  std::vector<std::size_t> first;  // by view: of its pieces in `all`; plus the end

  [[nodiscard]] std::span<const StepPiece> of(std::size_t view) const {
    return std::span(all).subspan(first[view], first[view + 1] - first[view]);
  }
};

// Nodes of one name may lie beside those of the next step, so occurrences are counted by step.
// O(nodes).
[[nodiscard]] StepPieces step_pieces(const Replay& replay, std::span<const RankView> views,
                                     unsigned threads);

// Duration and, of own work, delay. A message is late because of others.
[[nodiscard]] Ns time_of(const Replay& replay, const StepPiece& piece);

// Ordinal of the step that launched an operation, or in whose annotation (or after it) a host row
// began; -1 before the first. The instants of devices do not tell: they lag behind their hosts by
// different times.
[[nodiscard]] std::int32_t launch_step(const RankView& view, SliceId row);

[[nodiscard]] constexpr bool is_message(NodeKind kind) {
  return kind == NodeKind::transfer || kind == NodeKind::comm;
}

// Of two hashes, in this order.
[[nodiscard]] std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b);
// By StringId.
[[nodiscard]] std::vector<std::uint64_t> name_hashes(const StringPool& strings);

}  // namespace stepscope
