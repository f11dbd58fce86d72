// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/base/ascii.h"

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

// The size of an instance and the median transfer of its members, if both are known and not 0.
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

}  // namespace

std::vector<Transfer> find_transfers(std::span<const RankView> views, const Collectives& job) {
  const HostClocks clocks = find_clocks(views);
  std::vector<Transfer> transfers;
  for (const MatchedCollective& matched : job.matches.matched) {
    if (!matched.complete || matched.count < 2) continue;
    if (const auto timed = timed_size(job, matched))
      transfers.push_back({.kind = joined_kind(matched.kind),
                           .group_size = static_cast<int>(matched.count),
                           .placement = placement_of(job.matches.members_of(matched), clocks),
                           .bytes = timed->first,
                           .time = timed->second});
  }
  return transfers;
}

namespace {

using Instants = std::vector<std::int64_t>;  // ns
// Siblings, and what they send.
using FamilyKey = std::tuple<Dimension, int, CollectiveKind>;
using ByGroup = std::map<std::uint32_t, Instants>;
using BySize = std::map<std::int64_t, ByGroup>;

std::map<FamilyKey, BySize> timed_families(const Collectives& job) {
  std::map<FamilyKey, BySize> families;
  for (const MatchedCollective& matched : job.matches.matched) {
    if (matched.group == no_row) continue;
    const auto instance = timed_size(job, matched);
    if (!instance) continue;
    const FamilyKey key{job.dimension_of[matched.group], job.matches.groups[matched.group].size,
                        joined_kind(matched.kind)};
    families[key][instance->first.value][matched.group].push_back(instance->second.count());
  }
  return families;
}

std::int64_t time_of(const ByGroup& groups) {
  std::int64_t sum = 0;
  for (const auto& [group, times] : groups)
    for (const std::int64_t t : times) sum += t;
  return sum;
}

// Leaves the sizes that take most time.
void keep_largest(BySize& sizes) {
  if (sizes.size() <= most_group_sizes) return;
  Instants sums;
  for (const auto& [bytes, groups] : sizes) sums.push_back(time_of(groups));
  std::ranges::sort(sums, std::greater<>{});
  std::erase_if(
      sizes, [&](const auto& size) { return time_of(size.second) < sums[most_group_sizes - 1]; });
}

void append_rates(CollectiveKind kind, int size, std::int64_t bytes, const ByGroup& groups,
                  std::vector<GroupRate>& rates) {
  const std::size_t first = rates.size();
  const auto factor = busbw_factor(kind, size);
  Instants middles;
  for (const auto& [group, times] : groups) {
    GroupRate r{.group = group,
                .kind = kind,
                .bytes = Bytes{bytes},
                .count = times.size(),
                .transfer = median_time(times).value_or(Ns{0})};
    if (factor) r.busbw = ByteRate{(r.bytes / seconds(r.transfer)).value * *factor};
    middles.push_back(r.transfer.count());
    rates.push_back(std::move(r));
  }
  if (middles.size() < 2) return;
  Instants sorted = middles;
  std::ranges::sort(sorted);
  const std::size_t low = (sorted.size() - 2) / 2;  // the lower middle of the others
  for (std::size_t i = 0; i < middles.size(); ++i) {
    const std::int64_t reference = middles[i] > sorted[low] ? sorted[low] : sorted[low + 1];
    rates[first + i].of_siblings = static_cast<double>(reference) / static_cast<double>(middles[i]);
  }
}

}  // namespace

std::vector<GroupRate> group_rates(const Collectives& job) {
  std::vector<GroupRate> rates;
  for (auto& [key, sizes] : timed_families(job)) {
    keep_largest(sizes);
    for (const auto& [bytes, groups] : sizes)
      append_rates(std::get<CollectiveKind>(key), std::get<int>(key), bytes, groups, rates);
  }
  std::ranges::stable_sort(rates, std::ranges::less{}, [](const GroupRate& r) {
    return std::pair(r.group, -r.transfer.count() * static_cast<std::int64_t>(r.count));
  });
  return rates;
}

std::optional<Ns> latency_of(const TimesOfSizes& times) {
  if (times.size() < 2) return std::nullopt;
  const auto& [small, of_small] = *times.begin();
  const auto& [large, of_large] = *times.rbegin();
  if (large < 2 * small) return std::nullopt;
  const double slope = static_cast<double>((of_large - of_small).count()) /
                       static_cast<double>(large - small);  // ns per byte
  const Ns of_bytes{std::llround(std::max(0.0, slope) * static_cast<double>(small))};
  return std::max(Ns{0}, of_small - of_bytes);
}

NamedAlgorithm named_algorithm(std::string_view kernel, CollectiveKind kind) {
  kernel = kernel.substr(0, kernel.find('('));
  if (!kernel.starts_with("nccl")) return NamedAlgorithm::unknown;
  const bool reduces_all = kind == CollectiveKind::all_reduce;
  if (kernel.starts_with("ncclDevKernel_")) {
    if (!reduces_all) return NamedAlgorithm::unknown;
    if (contains(kernel, "_TREE_")) return NamedAlgorithm::tree;
    return contains(kernel, "_RING_") ? NamedAlgorithm::not_tree : NamedAlgorithm::unknown;
  }
  // A generic kernel runs any algorithm.
  if (contains(kernel, "SendRecv")) return NamedAlgorithm::unknown;
  if (contains(kernel, "_NVLS") || contains(kernel, "_COLLNET") || contains(kernel, "CollNet"))
    return NamedAlgorithm::in_switch;
  if (contains(kernel, "_TREE_") || contains(kernel, "Tree")) return NamedAlgorithm::tree;
  if (contains(kernel, "_RING_") || contains(kernel, "Ring")) return NamedAlgorithm::ring;
  return NamedAlgorithm::unknown;
}

std::vector<NamedCalls> named_calls(std::span<const RankView> views,
                                    const CollectiveMatches& matches) {
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t, NamedAlgorithm>, std::uint64_t>
      counts;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (views[v].index->cpu_only()) continue;
    for (const CollectiveCall& call : matches.ranks[v].calls) {
      if (!call.bytes || call.group == no_row) continue;
      const auto algorithm = named_algorithm(views[v].trace->name(call.slice), call.kind);
      if (algorithm != NamedAlgorithm::unknown)
        ++counts[{call.kind, call.group, call.bytes->value, algorithm}];
    }
  }
  std::vector<NamedCalls> calls;
  calls.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    const auto& [kind, group, bytes, algorithm] = key;
    calls.push_back({kind, group, Bytes{bytes}, algorithm, count});
  }
  return calls;
}

}  // namespace stepscope
