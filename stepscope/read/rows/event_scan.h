// SPDX-License-Identifier: Apache-2.0
// One trace event, from its opening brace, along the index of its text. The fast path: well-formed
// events. What it calls malformed goes to event_mend.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

enum class Scan : std::uint8_t {
  complete,    // the event is filled in and the cursor stands behind it
  incomplete,  // the text ends inside the event
  malformed,   // the text is not JSON here
};

// `cursor` indexes index.at at the event's '{' and is moved behind its '}'. `text` is the indexed
// text, with json_text_padding readable bytes behind it.
Scan scan_event(std::string_view text, const JsonIndex& index, std::size_t& cursor,
                RawEvent& event);

}  // namespace stepscope
