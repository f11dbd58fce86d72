// SPDX-License-Identifier: Apache-2.0
// Expected times of a trace's collectives on a machine's links (cost/time/collective_cost.h), by
// kind, size and group, compared with the measured times.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/cost/machine/interconnect.h"

namespace stepscope {

// One row. Seconds are over all its instances in the measured figure.
struct ExpectedCollective {
  const CollectiveRow* row = nullptr;
  GroupPlacement group{};
  double expected = 0;
  double measured = 0;
  std::uint64_t calls = 0;
  bool with_wait = false;  // measured is the whole duration: the traces cannot separate waiting
  bool assumed = false;    // RankPlaces::assumed

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] double ratio() const { return measured / expected; }
};

// Rows of known size and placement (rank_places.h), largest gap first. `collectives` must outlive
// the result.
[[nodiscard]] std::vector<ExpectedCollective> expected_collectives(const Collectives& collectives,
                                                                   const Network& network,
                                                                   std::optional<int> world_size);

struct PlacedRow {
  GroupPlacement group{};
  bool assumed = false;  // RankPlaces::assumed
};
// The placement of the row's groups; absent if they differ or it is unknown.
[[nodiscard]] std::optional<PlacedRow> placement_of(const CollectiveRow& row,
                                                    const CollectiveMatches& matches,
                                                    const Network& network,
                                                    std::optional<int> world_size);

}  // namespace stepscope
