// SPDX-License-Identifier: Apache-2.0
// How much of each host node's time lies inside rows of one kind, which a what-if can remove.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/analysis/replay/prefetch_replay.h"
#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// The changes that remove the time of rows, or of long stretches without any.
inline constexpr std::array changes_of_rows = {Change::data_free,      Change::allocator_free,
                                               Change::collector_free, Change::profiler_free,
                                               Change::copies_free,    Change::unseen_free};

struct RowTimes {
  // Parallel to changes_of_rows: nodes with such time, ascending, and that time.
  std::array<std::vector<NodeChange>, changes_of_rows.size()> times;

  // REQUIRES: one of changes_of_rows.
  [[nodiscard]] const std::vector<NodeChange>& of(Change change) const;
};

// Covers movable host nodes; for data loading without a device also compute nodes, whose rows it
// is there. One pass over the host rows of each view, and O(host nodes log rows).
[[nodiscard]] RowTimes find_row_times(const Replay& replay, std::span<const RankView> views,
                                      unsigned threads);

// The facts about a job that a what-if needs (what_if.h).

// The time, in ns, of a message of a collective in a group (row of CollectiveMatches::groups) on
// some machine; absent if unknown.
using MessageModel = std::function<std::optional<double>(
    const CollectiveMatches& matches, CollectiveKind kind, std::uint32_t group, Bytes bytes)>;

struct GradientTraffic;
struct PipelineBubble;

struct WhatIfInputs {
  const Replay& replay;
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const std::string> roles;  // by view
  const PeerMedians& medians;
  std::span<const HostPhases> phases{};  // by view; needed by `bucket`
  std::span<const UnitWaits> units{};    // by view; empty: units are unknown
  const MessageModel* messages =
      nullptr;  // for `bucket` if the traces do not contain the answer; may be null
  std::optional<int> micro_batches{};        // of a pipeline's step, where known
  const PipelineBubble* pipeline = nullptr;  // null: nothing passes between stages
  const GradientTraffic* traffic = nullptr;  // of these inputs; null: found when needed
  const RowTimes* row_times = nullptr;       // of these inputs; null: found when needed
};

// Asks the replay of a job while it exists.
using ReplayVisitor = std::function<void(const WhatIfInputs&)>;

}  // namespace stepscope
