// SPDX-License-Identifier: Apache-2.0
// Processes and communicators from the INIT, GRAPH and TUNING lines of NCCL's logs: how they are
// connected, and which algorithms were chosen. The only duration in these lines is that of the
// initialisation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepscope {

struct NcclProcess {
  std::string host{};
  std::int64_t pid = 0;
  std::optional<int> device{};
  std::map<std::string, std::string> environment{};  // from "… set by environment to …"
  std::string network{};                             // "IB", "Socket", a plugin's name
};

// A rank as member of a communicator.
struct NcclMember {
  std::uint32_t process = 0;
  int rank = -1;
  std::string bus{};
  std::string trees{};    // "[0] 1/-1/-1->0->-1 [1] …": by channel, children -> rank -> parent
  bool complete = false;  // its initialisation finished
  bool ended = false;     // destroyed or aborted
};

struct LoggedCommunicator {
  std::string id{};  // commId; empty before NCCL 2.19, then size and order distinguish them
  int ranks = 0;
  int nodes = 0;  // 0: not recorded
  std::optional<std::string> parent{};
  std::vector<NcclMember> members{};
  int channels = 0;                    // collective channels
  int pair_channels = 0;               // for sends and receives
  std::map<int, std::string> rings{};  // "0 1 2 3", by channel; at most 20 ranks
  // By channel: to which rank each rank sends, from lines "Ring 00 : 3 -> 0 -> 1".
  std::map<int, std::map<int, int>> ring_hops{};
  std::vector<std::string> trees{};                   // of rank 0, by channel
  std::map<std::string, std::uint64_t> transports{};  // "P2P/CUMEM/read" → connections
  std::optional<double> init_seconds{};               // the longest over its ranks
};

// Connections of communicators that the log does not name, from one host to one host.
struct LooseConnections {
  std::string from{};  // empty: not recorded
  std::string to{};
  std::set<int> channels{};
  std::map<std::string, std::uint64_t> transports{};  // → connections
};

// A choice of NCCL's tuner, with its count.
struct NcclChoice {
  std::string operation{};  // "AllReduce"; empty if not in the line
  std::string algorithm{};
  std::string protocol{};
  std::uint64_t calls = 0;
  std::int64_t least_bytes = 0;
  std::int64_t most_bytes = 0;
};

struct NcclSetup {
  std::map<std::string, std::uint64_t> versions{};  // "2.30.7+cuda12.9" → lines
  std::vector<NcclProcess> processes{};
  std::vector<LoggedCommunicator> communicators{};
  // Lines without the Init lines of their communicator: the rings of each process, whose size is
  // that of the highest rank (0 if a ring is not closed), and the connections. A process that logs
  // another ring for one channel has another communicator. Nothing shows which of several processes
  // are one communicator.
  std::vector<LoggedCommunicator> loose_rings{};
  std::vector<LooseConnections> loose_connections{};
  std::vector<NcclChoice> choices{};
  std::map<std::string, std::uint64_t> networks{};  // "NET/IB : Using …" → processes
};

}  // namespace stepscope
