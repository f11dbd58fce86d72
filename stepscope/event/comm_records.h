// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job left of their communication without a trace: rings of flight recorders,
// lines of NCCL logs, messages of watchdogs. One table for all of them, so that one analysis
// (analysis/hang/hang_account.h) asks who is missing where. It holds order and arguments, hardly
// any times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/event/nccl_setup.h"

namespace stepscope {

// `ended`: given up or finished, and the recorder does not say which; `unknown`: it says nothing.
enum class CallState : std::uint8_t { unknown, scheduled, started, ended, completed };
[[nodiscard]] std::string_view name_of(CallState state);

// One call of one rank in one group.
struct CommCall {
  std::int64_t sequence = 0;   // what the recorder numbers the group's calls by
  std::uint32_t ordinal = 0;   // among calls of one number: coalesced ones
  std::uint32_t position = 0;  // among all calls of the rank, over its groups
  CollectiveKind kind = CollectiveKind::unknown;
  CallState state = CallState::unknown;
  StringId name{};      // as recorded, without the library: "all_reduce", "send"
  StringId in_sizes{};  // "[[16], [4, 4]]"; of a log the number of elements
  StringId out_sizes{};
  StringId in_types{};  // "Float"; "float32"
  StringId out_types{};
  StringId arguments{};           // of a log: the reduction and the root, "sum, root 0"
  std::int64_t in_elements = -1;  // summed over the tensors; -1: not recorded
  std::int64_t out_elements = -1;
  std::int32_t peer = -1;   // of a send or recv: the other one's place in the group
  std::uint32_t stack = 0;  // in CommRecords::stacks; 0: not recorded
  Ns created{};             // UNIX; 0: not recorded
};

// What a recorder says of a group without naming calls. -1: nothing yet.
struct GroupStatus {
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
};

// All that one rank recorded of one group, each in the order it was called.
struct CommSequence {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;      // in CommRecords::ranks
  bool from_start = true;      // nothing was overwritten or cut before its first call
  bool watchdog_only = false;  // the calls are those a watchdog named
  std::vector<CommCall> collectives{};
  std::vector<CommCall> pairs{};  // sends and receives
  std::optional<GroupStatus> status{};
};

// `id` as the recorder has it: a process group's name, a communicator's id.
struct RecordedGroup {
  std::string id{};
  std::string name{};             // its description; may be empty
  std::vector<int> members{};     // ranks of the job, in the group's order
  bool members_recorded = false;  // else `members` are those that recorded calls
  int size = 0;                   // 0: not recorded
  bool from_log = false;          // of an NCCL log: calls are numbered by its opCount
};

// A rank of the job; of a log without ranks a process.
struct CommRank {
  std::optional<int> number{};
  std::string label{};  // "rank 3", "process 1234 on host a, device 3"
  bool has_dump = false;
  bool has_log = false;
};

// A watchdog gave up on a call.
struct WatchdogTimeout {
  std::uint32_t rank = 0;
  std::uint32_t group = 0;
  std::int64_t sequence = -1;
  std::string operation{};  // "BROADCAST"
  std::optional<std::int64_t> in_elements{};
  std::optional<std::int64_t> out_elements{};
  std::optional<Ns> limit{};
  std::optional<Ns> ran{};
};

struct StackFrame {
  StringId function{};
  StringId file{};
  std::int64_t line = 0;
};

// A warning or an error that a rank printed.
struct LogMessage {
  std::optional<std::uint32_t> rank{};
  std::string text{};
  std::uint64_t times = 1;
};

struct CommInput {
  std::string path{};
  std::string format{};  // "flight recorder (pickle)", "flight recorder (JSON)", "log"
  std::uint64_t bytes = 0;
  std::optional<int> rank{};
  std::uint64_t calls = 0;
  bool truncated = false;
  std::map<std::string, std::uint64_t> notes{};  // what was not understood, by reason
};

struct CommRecords {
  StringPool strings{};
  std::vector<std::vector<StackFrame>> stacks{{}};  // innermost first; 0 is none
  std::vector<CommRank> ranks{};
  std::vector<RecordedGroup> groups{};
  std::vector<CommSequence> sequences{};  // at most one of a group and a rank
  std::vector<WatchdogTimeout> timeouts{};
  std::vector<LogMessage> messages{};
  std::vector<CommInput> inputs{};
  NcclSetup nccl{};

  // The place of what is there, else of a new one.
  std::uint32_t rank_numbered(int number);
  std::uint32_t group_keyed(std::string_view key);
  CommSequence& sequence_of(std::uint32_t group, std::uint32_t rank);

  // Where they were put, by their names.
  std::map<int, std::uint32_t> rank_index{};
  std::map<std::string, std::uint32_t, std::less<>> group_index{};
  std::map<std::uint64_t, std::uint32_t> sequence_index{};
};

}  // namespace stepscope
