// SPDX-License-Identifier: Apache-2.0
// Kernels that run slower while communication shares the device with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The same kernel, by name and the input shapes of its operator, alone and while communication
// runs.
struct Contention {
  std::string name;
  std::string shape;        // as recorded
  Ns alone{};               // median of the runs that no communication touches
  Ns overlapped{};          // median of the runs that it covers for at least half
  double slowdown = 1;      // overlapped / alone
  std::uint64_t count = 0;  // overlapped runs
  Ns lost{};                // count × (overlapped − alone)
};

// Of one device. Only kernels whose operator has recorded input shapes are compared: one kernel
// name serves tensors of any size. A kernel must have run at least three times alone, with
// durations of one kind (the middle 80 % within half their median), and three times overlapped.
[[nodiscard]] std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane,
                                                 std::size_t most);

}  // namespace stepscope
