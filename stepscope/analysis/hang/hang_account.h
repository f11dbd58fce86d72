// SPDX-License-Identifier: Apache-2.0
// Finds why a job stands still, from the communication that its ranks recorded: which rank did not
// come to which collective, the first call on which ranks disagree, sends without a receiver, and
// findings that only follow from others.
//
// A rank without any record is missing as well: ranks of a group count from 0, so where a watchdog
// names rank 3 there are ranks 0, 1 and 2, and an all-gather shows the size of its group by its
// elements. Where nothing shows the size of a group, nothing is said of all of its ranks.
//
// In each group the calls are matched by the recorder's number. The first number with a
// disagreement ends the comparison of that group, because later calls cannot be matched. If all
// calls agree, the ranks with the lowest last number are missing in the next call. If a finding's
// rank itself waits in another finding, the first follows from the second.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

enum class HangKind : std::uint8_t {
  operation,     // ranks call different collectives under one number
  size,          // the same collective with another number of elements
  type,          // … with another element type
  argument,      // … with another root or reduction
  order,         // two calls in reverse order
  left_out,      // a call that the others made and this rank did not
  additional,    // a call that only this rank made
  missing,       // the others are in a call, and this rank has not come
  no_record,     // the same, and nothing was recorded of this rank
  not_finished,  // all have come, but some or all do not finish
  waiting,       // some are in a call, and the records do not show the others
  number,        // calls that meet have different numbers
  barrier,       // ranks did not reach a monitored barrier
  unpaired,      // a send without a receiver, or a receive without a sender
  pair_size,     // a send and its receive differ in size
  timeout        // a watchdog gave up, and the records do not show why
};
inline constexpr auto hang_kind_names = enum_names<HangKind::timeout>;
inline constexpr std::size_t hang_kind_count = hang_kind_names.size();
[[nodiscard]] constexpr std::string_view name_of(HangKind kind) {
  return hang_kind_names[static_cast<std::size_t>(kind)];
}

// A call in words.
struct HangCall {
  std::string name;   // "all_reduce"
  std::string sizes;  // "[[16]]", "[[16]] → [[128]]"
  std::string types;  // "Float"
  std::int64_t sequence = 0;
  CallState state = CallState::unknown;
  std::vector<std::string> stack{};  // "function at file:line", innermost first
};

struct HangFinding {
  HangKind kind = HangKind::missing;
  std::uint32_t group = 0;              // index into CommRecords::groups
  std::int64_t sequence = 0;            // of `call`; for pairs the receiver's or sender's number
  std::int64_t since = 0;               // the group's first unfinished call, if recorded
  std::optional<HangCall> call{};       // the call of the others; of one of them
  std::optional<HangCall> instead{};    // what `ranks` call there; of missing ranks the last call
  std::vector<std::uint32_t> ranks{};   // ranks at fault or missing; in CommRecords::ranks
  std::vector<int> unrecorded{};        // ranks without any record (no_record)
  std::vector<std::uint32_t> others{};  // ranks that wait, or agree
  // The same as numbers, where a message names ranks of a group that may not be those of the job
  // (calls that PyTorch compared, barriers); then `ranks` and `others` are empty.
  std::vector<int> numbers{};
  std::vector<int> other_numbers{};
  bool of_group = false;                 // these numbers are known to be those of the group
  std::optional<Ns> limit{};             // barrier: how long it waited
  std::string barrier{};                 // its name, or the operation of a desync report
  int silent = 0;                        // waiting: ranks of the group without a record; 0: unknown
  bool tied = false;                     // the same number of ranks makes either call
  bool next_of_others = false;           // `instead` is the others' next call
  std::optional<std::size_t> follows{};  // index of the finding that causes this one
  bool circular = false;                 // part of a cycle of ranks that wait for each other
};

struct HangGroup {
  std::uint32_t group = 0;
  int size = 0;             // 0: unknown
  int recorded = 0;         // members with a record
  std::uint64_t calls = 0;  // of all ranks
  std::uint64_t pairs = 0;
  std::optional<std::int64_t> all_reached{};  // the last number reached by every recorded member
  std::optional<std::int64_t> furthest{};     // the last number reached by any member
  std::optional<std::size_t> finding{};       // index of the first finding of this group
};

struct HangAccount {
  std::vector<HangFinding> findings{};  // causes first, then consequences, each by group
  std::vector<HangGroup> groups{};      // with calls or members
  std::uint64_t calls = 0;
  std::vector<std::uint32_t> silent{};  // ranks with a record but without calls
};

// Requires settled groups (read/nccl/flight_recorder.h).
[[nodiscard]] HangAccount find_hang(const CommRecords& records);

// The difference between two calls of one number: operation, size, type or argument; nullopt if
// they are equal. Compares numbers of elements, not shapes: NCCL sees no shapes. All-to-alls can be
// judged only by the sum over all ranks, scatters and gathers only by the side that each rank has.
[[nodiscard]] std::optional<HangKind> difference(const CommCall& a, const CommCall& b);

// The deviation of a rank that calls `mine` where the others call `theirs`, from the following
// calls of both. Each list begins with the call that differs.
struct Deviation {
  HangKind kind = HangKind::operation;
  bool next_of_others = false;
};
[[nodiscard]] Deviation deviation(std::span<const CommCall> mine, std::span<const CommCall> theirs);

// A call with its sizes, types and frames as text.
[[nodiscard]] HangCall spelled(const CommRecords& records, const CommCall& call);

// Adds what PyTorch itself compared and found different (CommRecords::compared), and barriers that
// ranks did not reach.
void find_compared(const CommRecords& records, HangAccount& out);
void find_barriers(const CommRecords& records, HangAccount& out);
// Adds what PyTorch's desync report says, and takes off the waits that it explains.
void find_desync(const CommRecords& records, HangAccount& out);

// Finds the findings that only follow from others.
//
// A rank stands in the first of its calls that a finding is about. If every missing rank of a
// finding stands in another finding, the finding follows from that one. A rank that stands nowhere
// stopped before the earliest call that waits for it, and the other calls follow from that one. A
// call that all have made and none finishes follows from the finding in which one of them stands.
// Sets `follows` and `circular`.
void find_causes(const CommRecords& records, HangAccount& out);
// Sorts causes first, absences before calls that no device has begun. Updates the indices in
// `follows`.
void put_causes_first(HangAccount& out);

// The last call that a rank recorded, over all its groups.
struct LastCall {
  std::uint32_t rank = 0;   // in CommRecords::ranks
  std::uint64_t calls = 0;  // of the rank
  std::uint32_t group = 0;  // in CommRecords::groups; of the last call
  CommCall call{};
};

// One a rank with any call, in the order of CommRecords::ranks.
[[nodiscard]] std::vector<LastCall> last_calls(const CommRecords& records);

}  // namespace stepscope
