// SPDX-License-Identifier: Apache-2.0
// What the collectives of a trace should take on a machine's links (cost/time/collective_cost.h),
// by kind, size and group, beside what they took.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/cost/machine/interconnect.h"

namespace stepscope {

// Of one row; seconds over all its instances that the measured figure holds.
struct ExpectedCollective {
  const CollectiveRow* row = nullptr;
  GroupPlacement group{};
  double expected = 0;
  double measured = 0;
  std::uint64_t calls = 0;
  bool with_wait = false;  // measured is the whole duration: the traces cannot tell waiting from it

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] double ratio() const { return measured / expected; }
};

// Rows whose size and placement are known, largest gap first. Global ranks are assumed to fill the
// domains one after the other (collective_link.h). `rows` outlive the result.
[[nodiscard]] std::vector<ExpectedCollective> expected_collectives(const Collectives& collectives,
                                                                   const Network& network,
                                                                   std::optional<int> world_size);

// Where the row's groups lie; absent where they lie differently or nothing tells.
[[nodiscard]] std::optional<GroupPlacement> placement_of(const CollectiveRow& row,
                                                         std::span<const CommGroup> groups,
                                                         const Network& network,
                                                         std::optional<int> world_size);

}  // namespace stepscope
