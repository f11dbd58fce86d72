// SPDX-License-Identifier: Apache-2.0
// What the INIT, GRAPH and TUNING lines of NCCL's logs say of processes and communicators: how they
// are connected and which algorithms were chosen. No line says how long anything took but the
// initialisation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepscope {

struct NcclProcess {
  std::string host{};
  std::int64_t pid = 0;
  std::optional<int> device{};
  std::map<std::string, std::string> environment{};  // as "… set by environment to …" says
  std::string network{};                             // "IB", "Socket", a plugin's name
};

// One rank's side of a communicator.
struct NcclMember {
  std::uint32_t process = 0;
  int rank = -1;
  std::string bus{};
  bool complete = false;  // its initialisation was finished
  bool ended = false;     // destroyed or aborted
};

struct LoggedCommunicator {
  std::string id{};  // commId; empty before NCCL 2.19: then told apart by size and order
  int ranks = 0;
  int nodes = 0;  // 0: not said
  std::optional<std::string> parent{};
  std::vector<NcclMember> members{};
  int channels = 0;                                   // collective channels
  int pair_channels = 0;                              // for sends and receives
  std::vector<std::string> rings{};                   // "0 1 2 3", by channel
  std::vector<std::string> trees{};                   // of rank 0, by channel
  std::map<std::string, std::uint64_t> transports{};  // "P2P/CUMEM/read" → connections
  std::optional<double> init_seconds{};               // the longest of its ranks
};

// A choice of the tuner, counted.
struct NcclChoice {
  std::string operation{};  // "AllReduce"; empty where the line does not say
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
  std::vector<NcclChoice> choices{};
  std::map<std::string, std::uint64_t> networks{};  // "NET/IB : Using …" → processes
};

}  // namespace stepscope
