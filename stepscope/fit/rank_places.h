// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a collective's groups lie on the domains of a machine's fast links: the one
// decision for shares of a link (collective_link.h) and expected times (expected_collectives.h).
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

// A larger domain spans hosts (a rack, a pod), so their names say nothing of it.
inline constexpr int most_of_a_host = 16;

struct RankPlaces {
  std::vector<std::vector<int>> groups;  // a place / domain is the number of its domain
  bool assumed = false;                  // that some of these ranks share a domain
};

// Ranks on hosts that the traces name fill the domains of their host, and no domain spans hosts.
// Other global ranks are assumed to fill the domains one after the other (the default of
// launchers). If ranks are not listed, only sizes decide: a job within one domain, or a group of
// the whole world; else absent. REQUIRES: domain > 0.
[[nodiscard]] std::optional<RankPlaces> places_of(const CollectiveRow& row,
                                                  const CollectiveMatches& matches, int domain,
                                                  std::optional<int> world_size);

}  // namespace stepscope
