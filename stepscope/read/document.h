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
// `metadata`.
OuterText read_head(std::string_view text, Metadata& metadata, ImportNotes& notes);
// Continues behind the array's ']': further members, perhaps a second traceEvents. `final`: no more
// text follows, so a missing closing brace is where the file was cut. `bare` says the document is
// an array.
OuterText read_tail(std::string_view text, bool bare, bool final, Metadata& metadata,
                    ImportNotes& notes);
// In a file that our own writer merged: replaces what `metadata` says about the process by what the
// member stepscopeRanks (kept in metadata.texts) says about `rank`.
void read_rank_metadata(int rank, Metadata& metadata);
[[nodiscard]] bool is_bare_array(std::string_view text);

}  // namespace stepscope
