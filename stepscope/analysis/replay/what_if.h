// SPDX-License-Identifier: Apache-2.0
// What a change would buy: the recorded steps replayed with other durations. Everything that the
// change does not touch keeps what was measured, delays included; so an answer holds as far as the
// graph knows what waits for what (Replay::residual_share is what it does not know).
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/stop.h"

namespace stepscope {

// What the change makes longer or shorter, by rising node; of prefetch, which changes what waits
// for what, nothing. Where stages are balanced, durations only. REQUIRES: not Change::bucket, whose
// nodes are others.
[[nodiscard]] std::vector<NodeChange> changes_of(const WhatIfInputs& inputs,
                                                 const Scenario& scenario);

// The causes that `analyze` asks about: no waiting, communication free (all, and each kind), host
// free, data free, sync free, copies free, devices alone, matmuls and other compute a tenth faster,
// bandwidth × 2, each rank as its peers (the 16 that are late most at most), balanced stages and
// ranks, more prefetching. Only those that change something. Largest gain first.
[[nodiscard]] std::vector<WhatIf> standing_what_ifs(const WhatIfInputs& inputs, unsigned threads,
                                                    const StopFlag* stop = nullptr);

[[nodiscard]] std::vector<WhatIf> what_if(const WhatIfInputs& inputs,
                                          std::span<const Scenario> scenarios, unsigned threads,
                                          const StopFlag* stop = nullptr);

}  // namespace stepscope
