// SPDX-License-Identifier: Apache-2.0
// The time of each piece of a rank's own work on the other ranks of its role, and on all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/step_pieces.h"

namespace stepscope {

struct PeerMedians {
  StepPieces pieces;
  // By node: the median of duration + delay of the same piece in the same step on the other ranks
  // of its role (for an even number the lower one); negative without such a piece. Covers host,
  // launch, compute and copy nodes. The kernels of a rank that is alone in its stage have peers in
  // the other stages, where these run kernels equally often, and its host work before calls of one
  // name in the same work of a step, its own and that of the other stages. Held nodes have 0,
  // unless half of the other ranks of the role have some too.
  std::vector<Ns> of_node;
  // Parallel to the movable compute nodes of the replay: the mean duration of the same piece over
  // all ranks of the role, including its own; negative if there is none.
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
