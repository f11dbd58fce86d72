// SPDX-License-Identifier: Apache-2.0
// Times of collective messages on a machine's links, for what-ifs about sizes that are not in the
// traces.
#pragma once

#include <optional>

#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// Covers groups whose ranks are known and placed as in plans (expected_collectives.h). Empty if the
// machine has no links.
[[nodiscard]] MessageModel message_model(const Machine& machine, std::optional<int> world_size);
// The part of these times that rounds of any size take one after the other, with the algorithm and
// protocol that the bytes get.
[[nodiscard]] MessageModel message_latency_model(const Machine& machine,
                                                 std::optional<int> world_size);

}  // namespace stepscope
