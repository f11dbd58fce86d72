// SPDX-License-Identifier: Apache-2.0
// Counts what one rank asks for: what the formulas of cost/ are held against.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// Everything a rank submitted, by kind.
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

// What the collective costs the link of each of n ranks by the standard formulas (nccl-tests,
// PERFORMANCE.md: busbw factor × total): all_reduce 2(n-1)/n·S, rounded to a byte; all_gather,
// reduce_scatter, all_to_all (n-1)·S; broadcast and send S; recv and barrier 0; a group of one 0.
[[nodiscard]] Bytes collective_sent(const CollectiveRequest& request, int ranks);

// Adds every accepted submission to `counters`, which outlives the communicator and its subgroups
// (they count into the same).
[[nodiscard]] std::unique_ptr<Communicator> counting(std::unique_ptr<Communicator> inner,
                                                     CommCounters& counters);

}  // namespace stepscope
