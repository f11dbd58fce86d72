// SPDX-License-Identifier: Apache-2.0
// Collectives that a thread without a device waits for before anything needs what they bring: a
// blocking call inside a hook, a wait or a synchronisation after every call. What is needed when is
// known of parameters by unit (unit_marks.h) and of gradients (gradient_traffic.h): these are
// needed where the thread computes something else than backward work. A wait is early when the
// thread stands still for three quarters of the collective or more, computes between its return and
// that need, and submits no other collective before it returns: who waits with others under way may
// wait for their memory.
//
// Without them: the thread goes on at once, what needs the result waits for it, and the collectives
// of a group go one after the other in the order of their submission.
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
  std::uint32_t wait = no_node;     // what it waits for
  std::uint32_t carrier = no_node;  // the end of the collective
  std::uint32_t reader = no_node;   // needs what it brings
  Ns begin{};                       // the thread stands still, on the trace's clock
  Ns end{};
};

// By view, then time. Empty without WhatIfInputs::phases.
[[nodiscard]] std::vector<EarlyWait> find_early_waits(const WhatIfInputs& inputs);

// The time of a step without those of `rank` (absent: of all).
[[nodiscard]] Ns replay_without(const WhatIfInputs& inputs, std::span<const EarlyWait> waits,
                                std::optional<int> rank = {});

// Of one rank.
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
