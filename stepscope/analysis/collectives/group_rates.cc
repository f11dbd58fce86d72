// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/group_rates.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "stepscope/analysis/collectives/transfers.h"

namespace stepscope {
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

}  // namespace stepscope
