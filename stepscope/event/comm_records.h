// SPDX-License-Identifier: Apache-2.0
// Records of a job's communication that are not traces: rings of flight recorders, lines of NCCL
// logs, messages of watchdogs, and what else its processes wrote as it ended (incident.h). One
// table holds all of them, so that one analysis (analysis/hang/hang_account.h) finds which rank is
// missing in which call. It holds order and arguments, and few times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/event/incident.h"
#include "stepscope/event/nccl_setup.h"

namespace stepscope {

// `ended`: given up or finished; the recorder does not say which. `unfinished`: a watchdog gave up
// on it, and no line says whether it had started. `unknown`: not recorded.
enum class CallState : std::uint8_t { unknown, scheduled, started, ended, completed, unfinished };
[[nodiscard]] std::string_view name_of(CallState state);

// One call of one rank in one group.
struct CommCall {
  std::int64_t sequence = 0;   // the recorder's number of the call in the group
  std::uint32_t ordinal = 0;   // among calls with one number (coalesced calls)
  std::uint32_t position = 0;  // among all calls of the rank, over its groups
  CollectiveKind kind = CollectiveKind::unknown;
  CallState state = CallState::unknown;
  StringId name{};      // as recorded, without the library: "all_reduce", "send"
  StringId in_sizes{};  // "[[16], [4, 4]]"; from a log, the number of elements
  StringId out_sizes{};
  StringId in_types{};  // "Float"; "float32"
  StringId out_types{};
  StringId arguments{};           // from a log: the reduction and the root, "sum, root 0"
  std::int64_t in_elements = -1;  // summed over the tensors; -1: not recorded
  std::int64_t out_elements = -1;
  std::int32_t peer = -1;   // of a send or recv: the other rank's index in the group
  std::uint32_t stack = 0;  // in CommRecords::stacks; 0: not recorded
  Ns created{};             // UNIX; 0: not recorded
};

// The state of a group that a recorder gives without naming calls. -1: none yet.
struct GroupStatus {
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
};

// All calls that one rank recorded in one group, in call order.
struct CommSequence {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;      // in CommRecords::ranks
  bool from_start = true;      // nothing before its first call was overwritten or cut
  bool watchdog_only = false;  // only calls that a watchdog named
  std::vector<CommCall> collectives{};
  std::vector<CommCall> pairs{};  // sends and receives
  std::optional<GroupStatus> status{};
};

// `id` as recorded: a process group's name, or a communicator's id.
struct RecordedGroup {
  std::string id{};
  std::string name{};             // description; may be empty
  std::vector<int> members{};     // ranks of the job, in the group's order
  bool members_recorded = false;  // otherwise `members` are the ranks that recorded calls
  int size = 0;                   // 0: not recorded
  bool size_by_elements = false;  // by the elements that an all-gather or reduce-scatter moves
  bool from_log = false;          // from an NCCL log: calls are numbered by its opCount
  // For watchdogs, which write the number of a rank within its group ("[Rank 3]"): rank of the
  // group → rank of the job. Ranks of a group count from 0, so each lower number is a member too.
  std::map<int, int> places{};
  bool unnamed = false;  // no line names the group
  bool guessed = false;  // unnamed, and its calls are joined only because their numbers are close
};

// A rank of the job, or a process if the log has no ranks.
struct CommRank {
  std::optional<int> number{};
  std::string label{};  // "rank 3", "process 1234 on host a, device 3"
  bool has_dump = false;
  bool has_log = false;
};

// A call on which a watchdog gave up.
struct WatchdogTimeout {
  std::uint32_t rank = 0;
  std::uint32_t group = 0;
  std::int64_t sequence = -1;  // -1: not in the message (before PyTorch 1.13)
  std::string operation{};     // "BROADCAST"
  std::optional<std::int64_t> in_elements{};
  std::optional<std::int64_t> out_elements{};
  std::optional<Ns> limit{};
  std::optional<Ns> ran{};
};

// Keys of the groups that stand for messages which name no group.
inline constexpr std::string_view compared_group = "unnamed compared";
inline constexpr std::string_view barrier_group = "unnamed barrier";
inline constexpr std::string_view desync_group = "unnamed desync";

// Two calls that meet and differ, as TORCH_DISTRIBUTED_DEBUG=DETAIL reports them. Ranks are those
// of the group. `sequence` of a call is -1 if not in the message.
struct ComparedCalls {
  int rank = 0;
  CommCall call{};
  std::optional<int> other{};  // PyTorch before 1.13 does not say which rank differs
  CommCall instead{};          // the call of `other`
  bool of_group = false;       // the launcher numbers the ranks of the job otherwise
};

// A monitored barrier that `missing` did not reach. Ranks are those of its group.
struct MissedBarrier {
  std::optional<int> waits{};  // the rank that reports it
  std::vector<int> missing{};  // may be empty: not in the message
  std::optional<Ns> limit{};
  std::string name{};  // of JAX's coordination service; empty: a monitored barrier of PyTorch
};

// What PyTorch's desync report says of one collective of a group, counted from 1. Ranks are those
// of the group.
struct DesyncReport {
  std::int64_t collective = 0;  // 0: `missing` never joined any
  std::string operation{};
  std::set<int> waits{};
  std::set<int> missing{};     // did not join it
  std::set<int> unfinished{};  // joined and did not finish it
};

// What processes wait for as they join a job or a group.
enum class SetUpKind : std::uint8_t {
  unique_id,         // NCCL's id of a communicator, which its first rank gives
  store_barrier,     // all processes, at a store
  address,           // a connection to an address
  store_clients,     // all processes, as they connect to the store
  store_key,         // a key that another process writes into the store
  monitored_barrier  // the answer of the rank that counts who has come
};
struct SetUpWait {
  SetUpKind kind = SetUpKind::store_barrier;
  std::set<int> ranks{};         // that wait; of the job for store_barrier, else of the group
  bool of_group = false;         // the launcher numbers these ranks otherwise
  std::optional<int> awaited{};  // the rank of the group that they wait for
  int came = 0;                  // at a store: processes, at the last count
  int size = 0;                  // at a store: processes that must come
  std::string place{};           // the key in the store, the address with its port
  std::optional<Ns> limit{};
};

// Ranks of one communicator that have launched different numbers of one operation, by NCCL's RAS.
struct RasCounts {
  std::string communicator{};  // its hash
  int size = 0;                // ranks; 0: not known
  std::string operation{};     // "AllGather"; empty: collectives of any kind
  struct Level {
    std::int64_t count = 0;
    int ranks = 0;              // how many
    std::vector<int> listed{};  // those that the status names
  };
  std::vector<Level> levels{};  // highest count first
};
// Ranks that did not answer, are dead or failed, by RAS.
struct RasAbsence {
  std::string communicator{};  // empty: processes of the job
  int size = 0;
  std::string what{};  // "INCOMPLETE", "DEAD", "ERROR"
  int count = 0;
  std::vector<int> ranks{};
  std::vector<std::string> processes{};  // "process 42 on node a, GPU 3"
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
  std::optional<int> device{};  // as the line names it
};

struct CommInput {
  std::string path{};
  std::string format{};  // "flight recorder (pickle)", "flight recorder (JSON)", "log"
  std::uint64_t bytes = 0;
  std::optional<int> rank{};
  std::uint64_t calls = 0;
  bool truncated = false;
  std::map<std::string, std::uint64_t> notes{};  // entries not understood, by reason
};

struct CommRecords {
  StringPool strings{};
  std::vector<std::vector<StackFrame>> stacks{{}};  // innermost frame first; stack 0 is empty
  std::vector<CommRank> ranks{};
  std::vector<RecordedGroup> groups{};
  std::vector<CommSequence> sequences{};  // at most one per group and rank
  std::vector<WatchdogTimeout> timeouts{};
  std::vector<LogMessage> messages{};
  std::vector<CommInput> inputs{};
  NcclSetup nccl{};
  std::vector<ComparedCalls> compared{};
  std::vector<MissedBarrier> barriers{};
  std::vector<DesyncReport> desync{};
  std::vector<SetUpWait> set_up{};
  std::vector<RasCounts> ras_counts{};
  std::vector<RasAbsence> ras_absences{};
  Incident incident{};

  // The index of the rank or group; a new one is added if it is missing.
  std::uint32_t rank_numbered(int number);
  std::uint32_t group_keyed(std::string_view key);
  CommSequence& sequence_of(std::uint32_t group, std::uint32_t rank);

  // Index by name.
  std::map<int, std::uint32_t> rank_index{};
  std::map<std::string, std::uint32_t, std::less<>> group_index{};
  std::map<std::uint64_t, std::uint32_t> sequence_index{};
};

}  // namespace stepscope
