// SPDX-License-Identifier: Apache-2.0
// Kernels that run slower while communication shares the device with them.
#pragma once

#include <cstddef>
#include <vector>

#include "stepscope/analysis/collectives/overlap.h"

namespace stepscope {

// Of one device. Only kernels whose operator has recorded input shapes are compared: one kernel
// name serves tensors of any size. A kernel must have run at least three times alone, with
// durations of one kind (the middle 80 % within half their median), and three times overlapped.
[[nodiscard]] std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane,
                                                 std::size_t most);

}  // namespace stepscope
