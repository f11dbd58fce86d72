// SPDX-License-Identifier: Apache-2.0
// The public JSON of what a log of NCCL shows of processes, communicators, rings and trees
// (docs/reference/json/hang.md).
#pragma once

#include "stepscope/event/nccl_setup.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// null without any line of NCCL.
[[nodiscard]] Json nccl_json(const NcclSetup& setup);

}  // namespace stepscope
