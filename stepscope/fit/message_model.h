// SPDX-License-Identifier: Apache-2.0
// What messages of collectives take on a machine's links, for what-ifs about sizes that traces do
// not tell of.
#pragma once

#include <optional>

#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// Of groups whose ranks are known and lie as plans lay them (expected_collectives.h). Empty where
// the machine has no links.
[[nodiscard]] MessageModel message_model(const Machine& machine, std::optional<int> world_size);

}  // namespace stepscope
