// SPDX-License-Identifier: Apache-2.0
// What is known of a job when a change is asked about (what_if.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/analysis/replay/prefetch_replay.h"
#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/steps/host_phases.h"

namespace stepscope {

// What a message of a collective takes in a group (row of CollectiveMatches::groups) on some
// machine, in ns; absent where that cannot be told.
using MessageModel = std::function<std::optional<double>(
    const CollectiveMatches& matches, CollectiveKind kind, std::uint32_t group, Bytes bytes)>;

struct GradientTraffic;

struct WhatIfInputs {
  const Replay& replay;
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const std::string> roles;  // by view
  const PeerMedians& medians;
  std::span<const HostPhases> phases{};  // by view; what `bucket` needs
  std::span<const UnitWaits> units{};    // by view; empty: nothing is known of units
  const MessageModel* messages =
      nullptr;  // for `bucket`, where the traces do not tell; may be null
  const GradientTraffic* traffic = nullptr;  // of these inputs; null: found where it is asked for
};

}  // namespace stepscope
