// SPDX-License-Identifier: Apache-2.0
// What can be found about a job that stands still (hang_account.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/event/comm_records.h"

namespace stepscope {

enum class HangKind : std::uint8_t {
  operation,     // ranks call different collectives under one number
  size,          // the same collective with another number of elements
  type,          // … with another element type
  argument,      // … with another root or reduction
  order,         // two calls the other way round
  left_out,      // a call that the others made and this rank did not
  additional,    // a call that only this rank made
  missing,       // the others are in a call, and this rank has not come
  no_record,     // the same, and of this rank nothing was recorded
  not_finished,  // all have come, and some or all do not finish
  unpaired,      // a send that nobody receives, or a receive that nobody serves
  pair_size,     // a send and its receive differ in size
  timeout        // a watchdog gave up, and what is recorded does not say why
};
inline constexpr std::size_t hang_kind_count = 13;
inline constexpr std::array<std::string_view, hang_kind_count> hang_kind_names = {
    "operation", "size",      "type",         "argument", "order",     "left_out", "additional",
    "missing",   "no_record", "not_finished", "unpaired", "pair_size", "timeout"};
static_assert(hang_kind_names[static_cast<std::size_t>(HangKind::timeout)] == "timeout");
[[nodiscard]] constexpr std::string_view name_of(HangKind kind) {
  return hang_kind_names[static_cast<std::size_t>(kind)];
}

// A call, spelled out.
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
  std::uint32_t group = 0;    // in CommRecords::groups
  std::int64_t sequence = 0;  // of the call below; of pairs the receiver's or sender's
  std::int64_t since = 0;     // the first call of the group that is not finished, where recorded
  std::optional<HangCall> call{};       // what the others are in, or call; of one of them
  std::optional<HangCall> instead{};    // what `ranks` call there; of missing ranks their last call
  std::vector<std::uint32_t> ranks{};   // who is at fault or missing; in CommRecords::ranks
  std::vector<int> unrecorded{};        // ranks without any record (no_record)
  std::vector<std::uint32_t> others{};  // who waits, or agrees
  bool even = false;                    // as many call the one as the other
  bool next_of_others = false;          // `instead` is what the others call next
  std::optional<std::size_t> follows{};  // the finding it is a consequence of
  bool circular = false;                 // part of a circle of ranks that wait for each other
};

struct HangGroup {
  std::uint32_t group = 0;
  int size = 0;             // 0: not known
  int recorded = 0;         // members that recorded anything
  std::uint64_t calls = 0;  // of all ranks
  std::uint64_t pairs = 0;
  std::optional<std::int64_t> all_reached{};  // the last number that every recorded member has
  std::optional<std::int64_t> furthest{};     // the last number that any has
  std::optional<std::size_t> finding{};       // what was found here first
};

struct HangAccount {
  std::vector<HangFinding> findings{};  // causes first, then consequences, each by group
  std::vector<HangGroup> groups{};      // that have calls or members
  std::uint64_t calls = 0;
  std::vector<std::uint32_t> silent{};  // ranks with a record and without any call
};

}  // namespace stepscope
