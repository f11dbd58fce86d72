// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/transfers.h"

#include <algorithm>
#include <set>

#include "stepscope/analysis/matching/host_clock.h"

namespace stepscope {
namespace {

HostPlacement placement_of(std::span<const CollectiveMember> members, const HostClocks& clocks) {
  std::set<std::uint32_t> hosts;
  for (const CollectiveMember m : members) {
    const std::uint32_t clock = clocks.of_view[m.view];
    if (clocks.clocks[clock].host.empty()) return HostPlacement::unknown;
    hosts.insert(clock);
  }
  return hosts.size() == 1 ? HostPlacement::one_host : HostPlacement::several_hosts;
}

std::optional<Transfer> transfer_of_all(const Collectives& job, const MatchedCollective& matched,
                                        const HostClocks& clocks) {
  const auto timed = timed_size(job, matched);
  if (!timed) return std::nullopt;
  const auto members = job.matches.members_of(matched);
  return Transfer{.kind = joined_kind(matched.kind),
                  .group_size = static_cast<int>(members.size()),
                  .placement = placement_of(members, clocks),
                  .bytes = timed->first,
                  .time = timed->second};
}

}  // namespace

std::optional<std::pair<Bytes, Ns>> timed_size(const Collectives& job,
                                               const MatchedCollective& matched) {
  std::vector<std::int64_t> times;
  std::optional<Bytes> bytes;
  for (const CollectiveMember m : job.matches.members_of(matched)) {
    const CollectiveCall& call = job.matches.call(m);
    const CallTime& time = job.times.by_view[m.view][m.call];
    if (!time.split || call.edge_count > 1) return std::nullopt;
    times.push_back(transfer_of(call, time).count());
    bytes = std::max(bytes, call.bytes);
  }
  const Ns transfer = median_time(times).value_or(Ns{0});
  if (!bytes || bytes->value <= 0 || transfer <= Ns{0}) return std::nullopt;
  return std::pair(*bytes, transfer);
}

std::vector<Transfer> find_transfers(std::span<const RankView> views, const Collectives& job) {
  const HostClocks clocks = find_clocks(views);
  std::vector<Transfer> transfers;
  for (const MatchedCollective& matched : job.matches.matched) {
    if (!matched.complete || matched.count < 2) continue;
    if (const auto transfer = transfer_of_all(job, matched, clocks)) transfers.push_back(*transfer);
  }
  return transfers;
}

}  // namespace stepscope
