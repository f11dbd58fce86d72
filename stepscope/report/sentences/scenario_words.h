// SPDX-License-Identifier: Apache-2.0
// Changes that a replay answers, for people.
#pragma once

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "matmul 1.1 × as fast", "rank 3 as its peers".
[[nodiscard]] Message scenario_words(const Scenario& scenario);

}  // namespace stepscope
