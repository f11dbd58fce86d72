// SPDX-License-Identifier: Apache-2.0
// What happens in a running job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/live/step_curve.h"

namespace stepscope {

enum class LiveEventKind : std::uint8_t {
  late,
  no_longer_late,
  slower,
  faster,
  silent,
  heard_again,
  stuck,
  unresponsive,
  stands_still,
  moves_again,
  restarted,
  longer_transfers,
  usual_transfers
};
inline constexpr auto live_event_names = enum_names<LiveEventKind::usual_transfers>;

// Transfers of a communicator in a round, a step or about one.
struct LongerTransfers {
  double before_ns = 0;
  double now_ns = 0;
  double round_ns = 0;
  std::size_t others = 0;  // communicators to which the same happened at the same time
};

inline constexpr std::size_t most_ranks_told = 64;

// What happened, with the figures that belong to its kind; others are absent.
struct LiveEvent {
  LiveEventKind kind = LiveEventKind::late;
  double at = 0;             // `now` of the poll that found it
  std::int64_t step = -1;    // at which it was found, or the last that was known then; -1: none
  std::int64_t since = -1;   // the first step at which the ranks were late; -1: unknown
  std::vector<int> ranks{};  // at most most_ranks_told
  std::size_t rank_count = 0;
  std::string host{};                // of the first rank
  std::string communicator{};        // its name, else its id
  std::optional<double> late_ns{};   // in a round
  std::optional<double> round_ns{};  // the time of a round
  std::size_t round = 0;             // collectives in a round
  std::string phase{};  // of the ranks' own work in which they are late; empty: unknown
  std::optional<StepChange> change{};  // of the step time
  std::optional<LongerTransfers> transfers{};
  std::optional<double> seconds{};  // of silence
  CollectiveKind collective = CollectiveKind::none;
  std::uint64_t number = 0;
  bool by_ras = false;  // ranks are those of the communicator

  void add_rank(int rank) {
    if (rank_count++ < most_ranks_told) ranks.push_back(rank);
  }
};

}  // namespace stepscope
