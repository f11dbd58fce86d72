// SPDX-License-Identifier: Apache-2.0
// Waits of a thread without a device for a collective before anything needs its result: a blocking
// call inside a hook, or a wait or synchronisation after every call. Only calls that a user or the
// engine made count: FSDP, tensor parallelism and pipelines wait where they must. The time of need
// is known for parameters by unit (unit_marks.h) and for gradients (gradient_traffic.h). Gradients
// are needed when the thread computes something other than backward work. A wait is early if the
// thread stands still for at least three quarters of the collective, computes between its return
// and that need, and submits no other collective before it returns: a thread that waits while
// others are in flight may wait for their memory.
//
// Without early waits the thread goes on at once, the reader waits for the result, and the
// collectives of a group run one after the other in the order of their submission.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

struct EarlyWait {
  std::uint32_t view = 0;
  std::uint32_t call = 0;           // row of RankCalls::calls
  std::uint32_t sync = no_node;     // the thread's return
  std::uint32_t wait = no_node;     // the node it waits for
  std::uint32_t carrier = no_node;  // the end of the collective
  std::uint32_t reader = no_node;   // node that needs the result
  Ns begin{};                       // start of the standstill, on the trace's clock
  Ns end{};
};

// By view, then time. Empty without WhatIfInputs::phases.
[[nodiscard]] std::vector<EarlyWait> find_early_waits(const WhatIfInputs& inputs);

// The time of a step without the early waits of `rank` (absent: of all ranks).
[[nodiscard]] Ns replay_without(const WhatIfInputs& inputs, std::span<const EarlyWait> waits,
                                std::optional<int> rank = {});

// The early waits of one rank.
struct EarlyWaitSum {
  int rank = 0;
  std::uint64_t count = 0;
  std::uint64_t collectives = 0;  // in its steps
  Ns total{};
  Ns worst_at{};  // on the trace's clock
  Ns worst{};
};
// Most time first.
[[nodiscard]] std::vector<EarlyWaitSum> sum_early_waits(const WhatIfInputs& inputs,
                                                        std::span<const EarlyWait> waits);

}  // namespace stepscope
