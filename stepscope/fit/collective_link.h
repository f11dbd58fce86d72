// SPDX-License-Identifier: Apache-2.0
// The link that a row of collectives is held against: what its busbw could reach at most.
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// Where the traces list the ranks of all groups of the row, their placement tells; assumed is that
// global ranks fill the nodes one after the other, `domain` of the machine's scale-up link each
// (what launchers do unless told otherwise). Absent where these groups' links differ. Of send_recv
// each pair of neighbours in the group's order counts. Of an all-to-all across nodes each device
// sends through its own network port what its peers elsewhere get: of n devices, m of them on the
// node that has fewest, busbw = algbw (n − 1) / n is at most the port's rate × (n − 1) / (n − m).
//
// Elsewhere only sizes are known: a job within one node, or a group of the whole world.
[[nodiscard]] std::optional<ByteRate> link_of(const Machine& machine, const CollectiveRow& row,
                                              std::span<const CommGroup> groups,
                                              std::optional<int> world_size);

}  // namespace stepscope
