// SPDX-License-Identifier: Apache-2.0
// The time of the messages of one collective in one group, by size: fitted to those of the traces,
// to those of a collective that sends as many bytes in as many steps, or taken from a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/stats/alpha_beta.h"

namespace stepscope {

// Time of one collective in one group, by size.
struct MessageTime {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;
  std::optional<AlphaBetaFit> fit{};
  std::string refused{};                // reason if there is no fit
  std::optional<SizedTime> one_size{};  // typical size and time, if sizes do not tell the latency
  std::string note{};                   // other sources than its own sizes

  // In ns; absent beyond four times the measured sizes.
  [[nodiscard]] std::optional<double> at(double bytes) const;
};

// A collective in a group, by row of CollectiveMatches::groups.
using MessageCarrier = std::pair<CollectiveKind, std::uint32_t>;

// Of each of `carriers`, in their order. Uses all their joined collectives.
[[nodiscard]] std::vector<MessageTime> message_times(const WhatIfInputs& in,
                                                     const std::set<MessageCarrier>& carriers);

// With the shortest or the longest times of other sizes that latency + bytes / bandwidth through
// this one can have. REQUIRES: time.one_size.
[[nodiscard]] MessageTime bound_through(MessageTime time, bool longest);

// "1.23 MB" and "all_reduce", for sentences.
[[nodiscard]] std::string about_bytes(double bytes);
[[nodiscard]] std::string_view collective_name(CollectiveKind kind);

}  // namespace stepscope
