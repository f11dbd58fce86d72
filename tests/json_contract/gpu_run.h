// SPDX-License-Identifier: Apache-2.0
// A small run of two GPU ranks in the profiler's format, made so that every part of the answer has
// something to say: products with shapes, alone and beside communication, copies, waits of streams
// for each other, collectives of which one rank is late, memory events, calls that block, hardware
// counters.
#pragma once

#include <string>

namespace stepscope::contract {

// The trace of one rank.
[[nodiscard]] std::string gpu_rank(int rank);

}  // namespace stepscope::contract
