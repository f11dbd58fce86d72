// SPDX-License-Identifier: Apache-2.0
// Kernels that run slower while communication shares the device with them.
#pragma once

#include <cstddef>
#include <vector>

#include "stepscope/analysis/overlap.h"

namespace stepscope {

// Of one device. A kernel is compared only where it ran at least three times alone, with durations
// of one kind (the middle 80 % within half their median, so that different shapes of one name are
// not mixed), and three times overlapped.
[[nodiscard]] std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane,
                                                 std::size_t most);

}  // namespace stepscope
