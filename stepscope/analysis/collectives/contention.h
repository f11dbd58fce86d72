// SPDX-License-Identifier: Apache-2.0
// Kernels that run slower while communication shares the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// One kernel, by name and its operator's input shapes, alone and beside communication.
struct Contention {
  std::string name;
  NameClass kind = NameClass::other;
  std::string shape;        // as recorded
  Ns alone{};               // median of the runs that communication does not touch
  Ns overlapped{};          // median of the runs that communication covers for at least half
  double slowdown = 1;      // overlapped / alone
  std::uint64_t count = 0;  // number of overlapped runs
  Ns lost{};                // count × (overlapped − alone)
};

// For one device. Compares only kernels whose operator has recorded input shapes, because one
// kernel name serves tensors of any size. A kernel must have at least three runs alone, with
// similar durations (the middle 80 % within half their median), and three overlapped runs.
[[nodiscard]] std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane,
                                                 std::size_t most);

}  // namespace stepscope
