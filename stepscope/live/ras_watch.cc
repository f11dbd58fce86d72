// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/ras_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t most_told = 64;

// Ranks that have called fewer collectives of a kind than another rank.
std::optional<LiveEvent> behind(const RasCommunicator& c) {
  for (std::size_t kind = 0; kind < collective_kind_count; ++kind) {
    std::uint64_t most = 0, fewest = ~std::uint64_t{0};
    for (const RasRank& rank : c.ranks) {
      most = std::max(most, rank.calls[kind]);
      fewest = std::min(fewest, rank.calls[kind]);
    }
    if (c.ranks.empty() || most == fewest) continue;
    LiveEvent event{.kind = LiveEventKind::stuck};
    for (const RasRank& rank : c.ranks) {
      if (rank.calls[kind] == most) continue;
      if (event.rank_count++ == 0) event.host = rank.host;
      if (event.ranks.size() < most_told) event.ranks.push_back(rank.rank);
    }
    event.collective = static_cast<CollectiveKind>(kind);
    event.number = most;
    event.by_ras = true;
    return event;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LiveEvent> RasWatch::take(const RasStatus& status, double now, double stuck_s) {
  std::vector<LiveEvent> events;
  for (const RasCommunicator& c : status.communicators) {
    Communicator& known = communicators_[c.id];
    known.seen = now;
    std::vector<std::array<std::uint64_t, collective_kind_count>> calls;
    for (const RasRank& rank : c.ranks) calls.push_back(rank.calls);
    if (calls != known.calls) {
      known.calls = std::move(calls);
      known.changed = now;
      known.told_stuck = false;
    }
    std::vector<std::int32_t> missing;
    LiveEvent lost{.kind = LiveEventKind::unresponsive, .at = now};
    for (const RasRank& rank : c.missing) {
      missing.push_back(rank.rank);
      if (std::ranges::find(known.told_missing, rank.rank) != known.told_missing.end()) continue;
      if (lost.rank_count++ == 0) lost.host = rank.host;
      if (lost.ranks.size() < most_told) lost.ranks.push_back(rank.rank);
    }
    known.told_missing = std::move(missing);
    lost.communicator = c.id;
    lost.by_ras = true;
    if (lost.rank_count > 0) events.push_back(std::move(lost));
    if (known.told_stuck || now - known.changed < stuck_s) continue;
    if (auto stuck = behind(c)) {
      stuck->at = now;
      stuck->communicator = c.id;
      stuck->seconds = now - known.changed;
      known.told_stuck = true;
      events.push_back(std::move(*stuck));
    }
  }
  std::erase_if(communicators_, [&](const auto& entry) { return entry.second.seen != now; });
  return events;
}

}  // namespace stepscope
