// SPDX-License-Identifier: Apache-2.0
// The facts about a job that a what-if needs (what_if.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/analysis/replay/prefetch_replay.h"
#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/replay/row_times.h"
#include "stepscope/analysis/steps/host_phases.h"

namespace stepscope {

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
  const RowTimes* row_times = nullptr;       // likewise
};

// Asks the replay of a job while it exists.
using ReplayVisitor = std::function<void(const WhatIfInputs&)>;

}  // namespace stepscope
