// SPDX-License-Identifier: Apache-2.0
// Log data of each process and of each communicator that it opened, before processes are mapped to
// ranks and communicators are joined.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/event/comm_records.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/nccl/loose_links.h"

namespace stepscope {

// A communicator as one process sees it.
struct LocalComm {
  std::uint32_t process = 0;
  int rank = -1;
  int ranks = 0;
  int nodes = 0;
  std::string id{};
  std::string parent{};
  std::string bus{};
  bool complete = false;
  bool ended = false;
  std::vector<CommCall> collectives{};
  std::vector<CommCall> pairs{};
  std::int64_t first_op_count = -1;
  // Connections, from the lines between START and COMPLETE (or before COMPLETE).
  int channels = 0;
  int pair_channels = 0;
  std::map<int, std::string> rings{};             // by channel
  std::map<int, std::map<int, int>> ring_hops{};  // by channel: to which rank a rank sends
  std::string trees{};
  std::map<std::string, std::uint64_t> transports{};
  std::optional<double> init_seconds{};
};

struct LogProcess {
  std::string host{};
  std::int64_t pid = 0;                // 0: its lines name none
  std::optional<int> device{};         // of its last line
  bool several_devices = false;        // its lines name other devices, too
  std::optional<int> launcher_rank{};  // from "[rank3]:" in front of its lines
  bool says_start = false;             // its NCCL version writes START lines
  std::map<std::string, std::string> environment{};
  std::string network{};
  std::unordered_map<std::uint64_t, std::uint32_t> open{};  // pointer → comms
  // Indices since their START lines, by the thread that opens them.
  std::map<std::int64_t, std::uint32_t> opening{};
  std::optional<std::uint32_t> latest{};
  std::uint32_t calls = 0;
  LocalComm pending{};  // data of lines before COMPLETE, without a START line
  LoggedLinks pending_links{};
  // Rings of earlier communicators without other lines: a channel of them came again.
  std::vector<LocalComm> earlier_rings{};
};

// Processes by the letters of their host, from the last to the first.
using HostsByEnd = std::map<std::string, std::uint32_t, std::less<>>;

// A rank as a log shows it: a process, or one GPU of a process that drives several.
struct LogActor {
  std::uint32_t process = 0;
  std::string bus{};  // empty: the only one of its process
};

class LogProcesses {
 public:
  explicit LogProcesses(CommRecords& into) : into_(into) {}

  // Processes a message. False if it contains nothing known.
  bool take(const NcclSaying& saying, std::optional<int> launcher_rank, CommInput& input);
  void settle();
  [[nodiscard]] const HostNames& hosts() const { return hosts_; }

 private:
  std::uint32_t process_of(const NcclSaying& saying);
  bool take_call(std::uint32_t process, const NcclCallLine& line, CommInput& input);
  bool take_comm(std::uint32_t process, const NcclCommLine& line);
  bool take_choice(const NcclChoiceLine& line);
  bool take_setup(std::uint32_t process, std::string_view text);
  bool take_channel(std::uint32_t process, std::string_view text);
  bool take_ring(std::uint32_t process, std::string_view text);
  LocalComm& target(std::uint32_t process);
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> joined(bool& ambiguous) const;
  void find_actors(const std::vector<std::vector<std::uint32_t>>& groups);
  [[nodiscard]] std::vector<std::uint32_t> ranks_of_actors(
      const std::vector<std::vector<std::uint32_t>>& groups);
  void add_group(const std::vector<std::uint32_t>& comms, const std::vector<std::uint32_t>& ranks);
  void begin_loose_ring(LogProcess& process, LocalComm& comm);
  void add_setup(const std::vector<std::uint32_t>& comms);
  [[nodiscard]] std::uint64_t add_loose();

  CommRecords& into_;
  std::vector<LogProcess> processes_;
  std::unordered_map<std::string, std::uint32_t> by_name_;  // "host:pid"
  std::unordered_map<std::int64_t, HostsByEnd> by_pid_;
  HostNames hosts_;
  std::vector<LocalComm> comms_;
  std::vector<LogActor> actors_;
  std::vector<std::uint32_t> actor_of_;  // by index of comms_
  std::map<std::string, std::size_t> choices_;
  std::int64_t tid_ = 0;  // of the current message
  std::string name_;
  std::string arguments_;
};

}  // namespace stepscope
