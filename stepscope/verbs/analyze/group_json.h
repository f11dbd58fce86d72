// SPDX-License-Identifier: Apache-2.0
// The process groups whose transfers were timed, each compared with its siblings.
#pragma once

#include <span>

#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

[[nodiscard]] Json groups_json(const Collectives& collectives, std::span<const GroupRate> rates);

}  // namespace stepscope
