// SPDX-License-Identifier: Apache-2.0
// What surrounds the events of a trace file: the object whose members stand before and after
// traceEvents, or nothing around a bare array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/event/import_notes.h"
#include "stepscope/event/metadata.h"

namespace stepscope {

enum class Outer : std::uint8_t {
  events,     // the events begin at `at`
  ended,      // the document ended at `at` without (further) events
  need_more,  // the text ends inside a member
  not_json,   // the text at `at` is no JSON
};

struct OuterText {
  Outer outer = Outer::not_json;
  std::size_t at = 0;
};

// Reads members from the document's first byte (after a BOM) up to the events. Members are put into
// `metadata`; one that cannot be read is counted and stepped over. `final`: no more text follows.
OuterText read_head(std::string_view text, bool final, Metadata& metadata, ImportNotes& notes);

struct TailText {
  std::string_view text;     // behind the array's ']', or behind members that were read
  std::uint64_t offset = 0;  // of it in the inflated file
  bool final = false;        // no more text follows: a missing brace means that the file was cut
};
// Continues behind the events of an object: further members, perhaps a second traceEvents.
OuterText read_tail(const TailText& tail, Metadata& metadata, ImportNotes& notes);
// In a file that our own writer merged: replaces what `metadata` says about the process by what the
// member stepscopeRanks (kept in metadata.texts) says about `rank`.
void read_rank_metadata(int rank, Metadata& metadata);
[[nodiscard]] bool is_bare_array(std::string_view text);

}  // namespace stepscope
