// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope live` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/live.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json live_tree(const LiveView& view);
// One event; `now`: the clock of the job state.
[[nodiscard]] Json live_event_json(const LiveEvent& event, double now);

}  // namespace stepscope
