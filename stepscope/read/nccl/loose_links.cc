// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/loose_links.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

bool within_host(std::string_view transport) {
  const bool between_hosts = transport.starts_with("P2P/MNNVL");  // NVLink between nodes
  return (transport.starts_with("P2P") && !between_hosts) || transport.starts_with("SHM");
}

// Where each rank writes; empty for a rank that writes on several hosts.
std::map<int, std::string> hosts_of_ranks(
    const std::vector<std::pair<std::string, LoggedLinks>>& by_host) {
  std::map<int, std::string> hosts;
  for (const auto& [host, links] : by_host)
    for (const auto& [link, lines] : links) {
      const auto [at, fresh] = hosts.try_emplace(link.received ? link.to : link.from, host);
      if (!fresh && at->second != host) at->second.clear();
    }
  return hosts;
}

}  // namespace

LoggedLink logged_link(int channel, std::string_view connection, std::string_view transport) {
  const auto rank = [](std::optional<std::int64_t> number) {
    return number && *number >= 0 && *number <= 10'000'000 ? static_cast<int>(*number) : -1;
  };
  return {.from = rank(number_behind(connection, "")),
          .to = rank(number_behind(connection, "-> ")),
          .channel = channel,
          .received = connection.find("[receive]") != std::string_view::npos,
          .transport = std::string(transport)};
}

std::vector<LooseConnections> loose_connections(
    const std::vector<std::pair<std::string, LoggedLinks>>& by_host) {
  const auto hosts = hosts_of_ranks(by_host);
  const auto host_of = [&](int rank) {
    const auto at = hosts.find(rank);
    return at == hosts.end() ? std::string() : at->second;
  };
  // By channel between two ranks: what the sender has logged, and what the receiver has.
  using Key = std::tuple<std::string, std::string, int, int, int>;
  std::map<Key, std::pair<LoggedLinks, LoggedLinks>> ends;
  for (const auto& [host, links] : by_host)
    for (const auto& [link, lines] : links) {
      const bool local = within_host(link.transport);
      const std::string other = local ? host : host_of(link.received ? link.from : link.to);
      auto& [sent, received] =
          ends[link.received ? Key{other, host, link.from, link.to, link.channel}
                             : Key{host, other, link.from, link.to, link.channel}];
      (link.received ? received : sent)[link] += lines;
    }
  std::map<std::pair<std::string, std::string>, LooseConnections> pairs;
  for (const auto& [key, both] : ends) {
    const auto& [from, to, sender, receiver, channel] = key;
    LooseConnections& pair = pairs[{from, to}];
    pair.from = from;
    pair.to = to;
    pair.channels.insert(channel);
    for (const auto& [link, lines] : both.first.empty() ? both.second : both.first)
      pair.transports[link.transport] += lines;
  }
  std::vector<LooseConnections> out;
  for (auto& [hosts_of_pair, pair] : pairs) out.push_back(std::move(pair));
  return out;
}

}  // namespace stepscope
