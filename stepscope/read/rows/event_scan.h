// SPDX-License-Identifier: Apache-2.0
// The fast path: parses one well-formed trace event, from its opening brace, along the index of its
// text. event_mend handles events that are malformed here.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

enum class Scan : std::uint8_t {
  complete,    // the event is filled in and the cursor is behind it
  incomplete,  // the text ends inside the event
  malformed,   // the text is not JSON here
};

// `cursor` indexes index.at at the event's '{' and is moved behind its '}'. `text` is the indexed
// text, followed by json_text_padding readable bytes.
Scan scan_event(std::string_view text, const JsonIndex& index, std::size_t& cursor,
                RawEvent& event);

}  // namespace stepscope
