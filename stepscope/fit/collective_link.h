// SPDX-License-Identifier: Apache-2.0
// The link behind a row of collectives: the upper bound of its busbw.
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// If the traces list the ranks of all groups of the row, their placement decides. Global ranks are
// assumed to fill the nodes one after the other, `domain` of the machine's scale-up link on each
// (the default of launchers). Absent if the links of these groups differ. For send_recv each pair
// of neighbours in the group's order counts. In an all-to-all across nodes each device sends the
// parts for other nodes through its own network port. With n devices, m of them on the node with
// the fewest, busbw = algbw (n − 1) / n is at most the port's rate × (n − 1) / (n − m).
//
// Otherwise only sizes decide: a job within one node, or a group of the whole world.
[[nodiscard]] std::optional<ByteRate> link_of(const Machine& machine, const CollectiveRow& row,
                                              std::span<const CommGroup> groups,
                                              std::optional<int> world_size);

// busbw of the row over its link. Above `most_link_share` the machine, the placement or the
// recorded size is wrong; up to there the figures of a machine are rounded.
inline constexpr double most_link_share = 1.1;
[[nodiscard]] std::optional<double> link_share(const Machine& machine, const CollectiveRow& row,
                                               std::span<const CommGroup> groups,
                                               std::optional<int> world_size);

}  // namespace stepscope
