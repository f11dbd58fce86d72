// SPDX-License-Identifier: Apache-2.0
// The part of a trace file around the events: the members of the object before and after
// traceEvents. A bare array has no members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/event/metadata.h"
#include "stepscope/event/trace.h"

namespace stepscope {

enum class Outer : std::uint8_t {
  events,     // the events begin at `at`
  ended,      // the document ended at `at` without (more) events
  need_more,  // the text ends inside a member
  not_json,   // the text at `at` is not JSON
};

struct OuterText {
  Outer outer = Outer::not_json;
  std::size_t at = 0;
};

// Reads members from the document's first byte (after a BOM) up to the events. Members are stored
// in `metadata`; an unreadable one is counted and skipped. `final`: no more text follows.
OuterText read_head(std::string_view text, bool final, Metadata& metadata, ImportNotes& notes);

struct TailText {
  std::string_view text;     // starts behind the array's ']', or behind members that were read
  std::uint64_t offset = 0;  // of the text in the inflated file
  bool final = false;        // no more text follows: a missing brace means that the file is cut
};
// Continues behind the events of an object: more members, perhaps a second traceEvents.
OuterText read_tail(const TailText& tail, Metadata& metadata, ImportNotes& notes);
// The longest text of a member that is kept; only that of our own writer is longer.
inline constexpr std::size_t longest_member = 2 << 20;
inline constexpr std::size_t longest_own_member = 16 << 20;

// Whether the member that begins at the start of `text` is longer than what is kept.
[[nodiscard]] bool is_too_long(std::string_view text);

// Skips the member at the start of the texts that it is given, however long it is.
class MemberSkip {
 public:
  // How many bytes of the text belong to the member.
  std::size_t take(std::string_view text);
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::uint64_t depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  bool ended_ = false;
};

// For a file that our own writer merged: replaces the process data in `metadata` by the data for
// `rank` in the member stepscopeRanks (kept in metadata.texts).
void read_rank_metadata(int rank, Metadata& metadata);
[[nodiscard]] bool is_bare_array(std::string_view text);
// Whether it begins as what export_memory_timeline() of torch.profiler writes to a .raw.json.gz:
// [[time, action, bytes, category], …], all of them integers.
[[nodiscard]] bool is_memory_timeline(std::string_view text);

}  // namespace stepscope
