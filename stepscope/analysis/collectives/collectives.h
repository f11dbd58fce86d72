// SPDX-License-Identifier: Apache-2.0
// The communication of a job: what was moved, how fast, who waited for whom. One row per name,
// group and message size, and one per dimension of parallelism.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_match.h"

namespace stepscope {

struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::unknown;  // send and recv are one: send_recv
  std::string group;                              // its label, or "unknown"
  Dimension dimension = Dimension::unknown;
  std::optional<int> group_size;
  std::vector<std::uint32_t> groups;  // rows of CollectiveMatches::groups; empty: not recorded
  std::string dtype;                  // c10's name; empty = not recorded
  std::uint64_t count = 0;            // instances: matched ones, and the most any rank has besides
  std::uint64_t matched = 0;          // of them found on all members that are traced
  std::uint64_t split = 0;            // of them with wait and transfer told apart
  std::optional<Bytes> bytes;         // S of one call (mean, where sizes vary too much to list)
  std::optional<ByteRate> algbw;      // S / median transfer
  std::optional<ByteRate> busbw;      // algbw × busbw_factor of the group's size
  std::optional<Ns> transfer;         // Σ over split instances of the median over its ranks
  std::optional<Ns> wait;             // Σ over split instances and their ranks
  Ns duration{};                      // Σ over instances of the median over its ranks
  Ns exposed{};                       // Σ over instances, mean over the ranks that took part
  std::optional<Ns> skew;             // median of last - first arrival, of complete instances
  std::optional<int> last_rank;       // who arrives last most often (the lowest of several)
  std::optional<double> last_rank_share;
  std::optional<Ns> clock_uncertainty;  // median of last - first end; barrier-like kinds only
};

struct DimensionRow {
  Dimension dimension = Dimension::unknown;
  std::uint64_t count = 0;
  std::optional<Bytes> bytes;  // Σ count × S; absent when no row has a size
  std::optional<Ns> wait;
  std::optional<Ns> transfer;
  Ns exposed{};
};

struct CollectiveOptions {
  std::optional<int> world_size;  // the user's; else what the traces record
  GroupDimensions dimensions;     // the user's
  unsigned threads = 1;
};

struct Collectives {
  CollectiveMatches matches;
  CollectiveTimes times;
  std::vector<std::vector<Ns>> exposed;  // by view and call
  std::vector<CommSplit> splits;         // by view, for the time budget
  std::vector<Dimension> dimension_of;   // by group of `matches`
  std::vector<CollectiveRow> rows;       // by exposed time, largest first
  std::vector<DimensionRow> dimensions;  // likewise
};

[[nodiscard]] Collectives analyze_collectives(std::span<const RankView> views,
                                              const CollectiveOptions& options = {});
// Of calls that are matched already; their instants must be on one time axis.
[[nodiscard]] Collectives analyze_collectives(std::span<const RankView> views,
                                              CollectiveMatches matches,
                                              const CollectiveOptions& options);

}  // namespace stepscope
