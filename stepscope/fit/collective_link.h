// SPDX-License-Identifier: Apache-2.0
// The link behind a row of collectives: the upper bound of its busbw.
#pragma once

#include <optional>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// Absent if the links of the row's groups differ or rank_places.h does not know them. For send_recv
// each pair of neighbours in the group's order counts. In an all-to-all across nodes each device
// sends the parts for other nodes through its own network port. With n devices, m of them on the
// node with the fewest, busbw = algbw (n − 1) / n is at most the port's rate × (n − 1) / (n − m).
[[nodiscard]] std::optional<ByteRate> link_of(const Machine& machine, const CollectiveRow& row,
                                              const CollectiveMatches& matches,
                                              std::optional<int> world_size);

// busbw of the row over its link. Above `most_link_share` the machine, the placement or the
// recorded size is wrong; up to there the figures of a machine are rounded.
inline constexpr double most_link_share = 1.1;
[[nodiscard]] std::optional<double> link_share(const Machine& machine, const CollectiveRow& row,
                                               const CollectiveMatches& matches,
                                               std::optional<int> world_size);

}  // namespace stepscope
