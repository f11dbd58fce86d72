// SPDX-License-Identifier: Apache-2.0
// The work of steps in pieces that other steps and other ranks have too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/steps/steps.h"

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

// Nodes of one name may lie next to those of the next step, so occurrences are counted by step.
// O(nodes).
[[nodiscard]] StepPieces step_pieces(const Replay& replay, std::span<const RankView> views,
                                     unsigned threads);

// Duration and, of own work, delay. A message is late because of others, and a kept delay shows
// when the recording began.
[[nodiscard]] Ns time_of(const Replay& replay, std::uint32_t node);

// Ordinal of the step that launched an operation, or in whose annotation (or after it) a host row
// began; -1 before the first. The instants of devices do not show it: they lag behind their hosts
// by different times.
[[nodiscard]] std::int32_t launch_step(const RankView& view, SliceId row);

[[nodiscard]] constexpr bool is_message(NodeKind kind) {
  return kind == NodeKind::transfer || kind == NodeKind::comm;
}

// The hash of two hashes, in this order.
[[nodiscard]] std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b);
// By StringId.
[[nodiscard]] std::vector<std::uint64_t> name_hashes(const StringPool& strings);

// The time of each piece of a rank's own work on the other ranks of its role, and on all of them.

struct PeerMedians {
  StepPieces pieces;
  // By node: the median of time_of() of the same piece in the same step on the other ranks
  // of its role (for an even number the lower one); negative without such a piece. Covers host,
  // launch, compute and copy nodes. The kernels of a rank that is alone in its stage have peers in
  // the other stages, where these run kernels equally often, and its host work before calls of one
  // name in the same work of a step, its own and that of the other stages. Held nodes have 0,
  // unless half of the other ranks of the role have some too.
  std::vector<Ns> of_node;
  // Parallel to the movable compute nodes of the replay: the mean duration of the same piece over
  // all ranks of the role, including its own; negative without one.
  std::vector<Ns> mean;
};

// By view: the role by which a rank is compared. If no two ranks of the job have one role, as
// without data parallelism, all ranks of a stage are compared: tensor-parallel ranks run the same
// program.
[[nodiscard]] std::vector<std::string> roles_to_compare(std::span<const std::string> roles);

// "tp0.pp1", "pp1" → "pp1"; empty without a stage.
[[nodiscard]] std::string_view stage_of(std::string_view role);

// `roles`: by view. O(nodes log nodes).
[[nodiscard]] PeerMedians peer_medians(const Replay& replay, std::span<const RankView> views,
                                       std::span<const std::string> roles, unsigned threads = 1);

}  // namespace stepscope
