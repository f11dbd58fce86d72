// SPDX-License-Identifier: Apache-2.0
// The transfers whose time says something of a link.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/fit/expected_collectives.h"

namespace stepscope {

// Rows whose transfer is known without waiting, and whose bytes and not latency are what they
// should take. If the placement is only assumed (rank_places.h), no fast link is: their expectation
// is then that of ranks in a domain each, if it is the longer one. `collectives` must outlive the
// result. Empty without links.
[[nodiscard]] std::vector<ExpectedCollective> judged_transfers(const Collectives& collectives,
                                                               const Machine& machine,
                                                               std::optional<int> world_size);

}  // namespace stepscope
