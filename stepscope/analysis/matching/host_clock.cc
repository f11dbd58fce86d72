// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/host_clock.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// "node-7.local_4711.1698957822175570404.pt.trace.json.gz" → "node-7.local". A number that may be
// the rank is not a process id: "worker_3.1698….pt.trace.json" names no host.
std::string_view host_in_name(const Metadata& metadata) {
  std::string_view name = metadata.path;
  name = name.substr(name.rfind('/') + 1);
  const std::size_t suffix = name.find(".pt.trace.json");
  if (suffix == std::string_view::npos) return {};
  name = name.substr(0, suffix);
  const std::size_t dot = name.rfind('.');
  const std::size_t line = name.rfind('_', dot);
  if (dot == std::string_view::npos || line == std::string_view::npos) return {};
  const std::string_view process = name.substr(line + 1, dot - line - 1);
  const std::string_view time = name.substr(dot + 1);  // ms or ns since 1970
  const bool handler = is_number(time) && time.size() >= 13 && is_number(process);
  if (!handler || process.size() > 9) return {};
  constexpr int least_process = 100;  // smaller numbers are more often a rank or step
  const bool may_be_rank =
      *number_of<int>(process) < std::max(least_process, metadata.world_size.value_or(0));
  return may_be_rank ? std::string_view() : name.substr(0, line);
}

// All windows of a rank have one host or none.
std::map<int, std::string> hosts_of_ranks(std::span<const RankView> views) {
  std::map<int, std::string> hosts;
  for (const RankView& view : views) {
    std::string& host = hosts[view.rank];
    if (host.empty()) host = host_of(view.trace->metadata);
  }
  return hosts;
}

// Ranks with the same host share a clock; those without one have their own.
HostClocks clocks_of_hosts(std::span<const RankView> views,
                           const std::map<int, std::string>& host_of_rank) {
  HostClocks found;
  std::map<std::string, std::uint32_t> row_of_host;
  std::map<int, std::uint32_t> row_of_rank;
  for (const auto& [rank, host] : host_of_rank) {
    const auto fresh = static_cast<std::uint32_t>(found.clocks.size());
    const std::uint32_t row =
        host.empty() ? fresh : row_of_host.try_emplace(host, fresh).first->second;
    if (row == fresh) found.clocks.push_back({host, {}});
    found.clocks[row].ranks.push_back(rank);
    row_of_rank[rank] = row;
  }
  for (const RankView& view : views) found.of_view.push_back(row_of_rank.at(view.rank));
  return found;
}

}  // namespace

std::string host_of(const Metadata& metadata) {
  if (const auto at = metadata.texts.find("host_name"); at != metadata.texts.end())
    if (!at->second.empty()) return at->second;
  return std::string(host_in_name(metadata));
}

RankHosts hosts_of(std::span<const RankView> views) {
  RankHosts hosts;
  std::uint32_t number = 0;
  for (const HostClocks::Clock& host : find_clocks(views).clocks) {
    if (host.host.empty()) continue;
    RankHost row{.host = number++, .first = host.ranks.front(), .last = host.ranks.back()};
    for (const int rank : host.ranks) {
      hosts.of_rank[rank] = row;
      hosts.most = std::max(hosts.most, ++row.place);
    }
  }
  return hosts;
}

bool any_relative(std::span<const RankView> views) {
  return std::ranges::any_of(
      views, [](const RankView& v) { return v.trace->metadata.clock != Clock::unix_epoch; });
}

HostClocks find_clocks(std::span<const RankView> views) {
  return clocks_of_hosts(views, hosts_of_ranks(views));
}

HostClocks clocks_of_devices(std::span<const RankView> views, std::span<const RankCalls> calls) {
  std::map<int, std::string> hosts = hosts_of_ranks(views);
  for (std::size_t v = 0; v < views.size(); ++v)
    if (std::ranges::any_of(calls[v].calls, [&](const CollectiveCall& call) {
          return is_device_work(views[v].trace->slices.category[index(call.slice)]);
        }))
      hosts[views[v].rank].clear();
  return clocks_of_hosts(views, hosts);
}

}  // namespace stepscope
