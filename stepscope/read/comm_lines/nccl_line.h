// SPDX-License-Identifier: Apache-2.0
// One log line with possible messages of NCCL or PyTorch's watchdog: the writer and the message.
// Writers may interrupt each other's lines, launchers add prefixes, and terminals' colour codes may
// be in between.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

enum class NcclLevel : std::uint8_t { info, warn, trace, call, version };

// A message and the process that wrote it. Both are views of the line.
struct NcclSaying {
  NcclLevel level = NcclLevel::info;
  std::string_view host{};  // empty without a process in front ("NCCL version …", excerpts of
                            // logs); may begin with letters of other writers
  std::int64_t pid = 0;     // 0: not in the line
  std::int64_t tid = 0;
  std::optional<int> device{};
  std::string_view text{};
};

using HostNames = std::set<std::string, std::less<>>;

// Splits a line into its messages, in order. A message ends where the next one's process begins.
// Letters of another writer before one of the `known` hosts belong to the message before.
void split_sayings(std::string_view line, const HostNames& known, std::vector<NcclSaying>& into);

// `line` without terminal escape sequences; the line itself if it has no such sequences.
[[nodiscard]] std::string_view without_colours(std::string_view line, std::string& room);

// "AllReduce: opCount 2a sendbuff 0x… recvbuff 0x… count 1048576 datatype 7 op 0 root 0 comm 0x…
// [nranks=8] stream 0x…": opCount and pointers are hexadecimal.
struct NcclCallLine {
  std::string_view operation{};
  std::int64_t op_count = 0;
  std::int64_t count = 0;
  int type = -1;
  int reduction = -1;
  int root = -1;
  std::optional<std::uint64_t> communicator{};
  int ranks = 0;  // 0: not recorded
};
[[nodiscard]] std::optional<NcclCallLine> parse_call(std::string_view text);

// "comm 0x… rank 3 nranks 16 … commId 0x… - Init COMPLETE", and other lines about one communicator
// of one rank.
struct NcclCommLine {
  std::uint64_t communicator = 0;
  int rank = -1;
  int ranks = 0;
  int nodes = 0;
  std::string_view bus{};
  std::string_view id{};
  std::string_view parent{};
  bool start = false;
  bool complete = false;
  bool ended = false;
};
[[nodiscard]] std::optional<NcclCommLine> parse_comm(std::string_view text);

// "1048576 Bytes -> Algo RING proto SIMPLE …", with or without the operation. Numbers in old
// versions are converted to names.
struct NcclChoiceLine {
  std::string operation{};
  std::int64_t bytes = 0;
  std::string algorithm{};
  std::string protocol{};
};
[[nodiscard]] std::optional<NcclChoiceLine> parse_choice(std::string_view text);

// A message of torch.distributed's watchdog about a rank and a group (ProcessGroupNCCL.cpp of
// PyTorch 1.9 and later). A field at the end of a cut line is absent.
struct WatchdogLine {
  int rank = -1;   // of the job ("[rank3]:", PyTorch 2.2 and later); without it that of the group
  int place = -1;  // the rank of the group ("[Rank 3]", "[PG ID 0 PG GUID 0(default_pg) Rank 3]")
  std::string_view group{};  // PG GUID; empty if not in the message
  std::string_view group_name{};
  bool timeout = false;  // a call timed out; see the fields below
  bool gave_up = false;  // a status says that the call `sequence` timed out
  std::int64_t sequence =
      -1;  // of the call, or of the call where a failure was seen; -1: not there
  std::string_view operation{};  // "BROADCAST"
  std::optional<std::int64_t> in_elements{};
  std::optional<std::int64_t> out_elements{};
  std::optional<std::int64_t> limit_ms{};
  std::optional<std::int64_t> ran_ms{};
  std::optional<std::int64_t> enqueued{};  // the group's last sequence numbers on that rank
  std::optional<std::int64_t> started{};
  std::optional<std::int64_t> completed{};
};
[[nodiscard]] std::optional<WatchdogLine> parse_watchdog(std::string_view line);

// Whether a terminal or a page has cut the timeout of a watchdog, or its status: the rest stands on
// the next lines.
[[nodiscard]] bool is_cut_watchdog(std::string_view line);
[[nodiscard]] bool is_cut_status(std::string_view line);
// Puts the next line behind a cut one. A break within a word or a number leaves no blank.
void join_cut_line(std::string& line, std::string_view next);

// A difference that TORCH_DISTRIBUTED_DEBUG=DETAIL reports (ProcessGroupWrapper.cpp): "Detected
// mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(…),
// but Rank 0 is running collective: CollectiveFingerPrint(…". Until PyTorch 1.12 each rank gives
// its own call alone: "Rank 3 is running inconsistent collective: CollectiveFingerPrint(OpType=…".
struct FingerprintLine {
  int rank = -1;               // of the group
  std::int64_t sequence = -1;  // -1: not in the message (before PyTorch 2.1)
  std::string_view operation{};
  std::string_view shape{};  // "[195812480]"; empty: not in the message
  std::string_view type{};   // "BFloat16"
};
struct MismatchLine {
  FingerprintLine first{};
  std::optional<FingerprintLine> second{};
};
[[nodiscard]] std::optional<MismatchLine> parse_mismatch(std::string_view line);

// A monitored barrier (ProcessGroupGloo.cpp): "[Rank 0]: Rank 1 failed to pass monitoredBarrier in
// 2000 ms", "[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 2000 ms".
// One of JAX's coordination service: "Barrier timed out. Barrier_id: NAME. Timed out task names:
// /job:jax_worker/replica:0/task:1 …", with the tasks on the next lines; newer "Id: NAME::0.".
struct BarrierLine {
  int waits = -1;
  std::vector<int> missing{};
  std::int64_t limit_ms = -1;
  std::string_view name{};  // JAX's
};
[[nodiscard]] std::optional<BarrierLine> parse_barrier(std::string_view line);

// The product of "[1024, 16]"; 1 of "[]"; absent for other texts.
[[nodiscard]] std::optional<std::int64_t> elements_of_shape(std::string_view shape);

// "float32" for 7; empty for a number that is not a type of NCCL.
[[nodiscard]] std::string_view nccl_type_name(int type);
[[nodiscard]] std::string_view nccl_reduction_name(int reduction);

// The text behind the first `key`; nullopt if the key is missing.
[[nodiscard]] std::optional<std::string_view> behind(std::string_view text, std::string_view key);
// The decimal number that follows `key`.
[[nodiscard]] std::optional<std::int64_t> number_behind(std::string_view text,
                                                        std::string_view key);

// The process that NCCL_DEBUG_FILE names: "nccl_log_%h_%p.txt". pid 0: it is not in the name.
struct NcclWriter {
  std::string host{};
  std::int64_t pid = 0;
};
[[nodiscard]] NcclWriter writer_in_name(std::string_view path);

}  // namespace stepscope
