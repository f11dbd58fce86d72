// SPDX-License-Identifier: Apache-2.0
// Parses a stretch of the traceEvents array into a sink. Well-formed text is read along its index.
// Damaged events are mended or skipped and counted; reading goes on at the next event.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_sink.h"

namespace stepscope {

struct ParsedStretch {
  std::size_t consumed = 0;  // end of the text that is done; the rest is the beginning of an
                             // event, or the text behind the array
  bool array_ended = false;  // a ']' closed traceEvents; consumed is behind it
};

// `text` begins between two events (or before the first); json_text_padding readable bytes follow
// it. `offset` is its position in the inflated file. With `final` no more text follows, and an
// incomplete tail is counted as truncated. The memory of `index` is reused.
ParsedStretch parse_events(std::string_view text, std::uint64_t offset, bool final,
                           JsonIndex& index, EventSink& sink);

}  // namespace stepscope
