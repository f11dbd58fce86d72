// SPDX-License-Identifier: Apache-2.0
// Counts what one rank submits. Tests compare the formulas of cost/ with these counts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// All submissions of a rank, by kind.
struct CommCounters {
  struct Kind {
    std::uint64_t calls = 0;
    Bytes payload{};  // sum of S (communicator.h)
    Bytes sent{};     // sum of collective_sent()
  };
  std::array<Kind, collective_kind_count> kinds{};

  [[nodiscard]] Kind& operator[](CollectiveKind kind) {
    return kinds[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const Kind& operator[](CollectiveKind kind) const {
    return kinds[static_cast<std::size_t>(kind)];
  }
};

// Bytes that the collective sends over the link of each of n ranks, by the standard formulas
// (nccl-tests, PERFORMANCE.md: busbw factor × total): all_reduce 2(n-1)/n·S, rounded to a byte;
// all_gather, reduce_scatter, all_to_all (n-1)·S; broadcast and send S; recv and barrier 0; a group
// of one 0.
[[nodiscard]] Bytes collective_sent(const CollectiveRequest& request, int ranks);

// Adds every accepted submission to `counters`. The communicator's subgroups count into the same
// counters. `counters` must outlive them all.
[[nodiscard]] std::unique_ptr<Communicator> counting(std::unique_ptr<Communicator> inner,
                                                     CommCounters& counters);

}  // namespace stepscope
