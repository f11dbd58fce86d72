// SPDX-License-Identifier: Apache-2.0
// The connections in lines of NCCL's log to which no Init line gives a communicator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stepscope/event/nccl_setup.h"

namespace stepscope {

// "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0".
struct LoggedLink {
  int from = -1;  // ranks
  int to = -1;
  int channel = -1;
  bool received = false;  // the line is the receiver's; else the sender's
  std::string transport{};
  auto operator<=>(const LoggedLink&) const = default;
};
// `connection`: the text behind the channel's colon; `transport`: that behind " via ".
[[nodiscard]] LoggedLink logged_link(int channel, std::string_view connection,
                                     std::string_view transport);

// The links of one process, and how often each was logged.
using LoggedLinks = std::map<LoggedLink, std::uint64_t>;

// By the hosts of both ends. The writer is one end. P2P within a host and SHM have the other end on
// the same host; of the rest it is on the host where that rank writes lines, if this is one host.
// What both ends have logged counts once.
[[nodiscard]] std::vector<LooseConnections> loose_connections(
    const std::vector<std::pair<std::string, LoggedLinks>>& by_host);

}  // namespace stepscope
