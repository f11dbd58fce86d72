// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope live` (docs/reference/json/live.md).
#pragma once

#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/live/live.h"

namespace stepscope {

[[nodiscard]] Json live_tree(const LiveView& view);
// One event; `now`: the clock of the job state.
[[nodiscard]] Json live_event_json(const LiveEvent& event, double now);

}  // namespace stepscope
