// SPDX-License-Identifier: Apache-2.0
// A stretch of the traceEvents array → a sink. Well-formed text runs along its index; what is
// damaged is mended or stepped over, counted, and reading goes on at the next event.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_sink.h"

namespace stepscope {

struct ParsedStretch {
  std::size_t consumed = 0;  // up to here the text is done with; the rest is the beginning of an
                             // event, or what follows the array
  bool array_ended = false;  // a ']' closed traceEvents; consumed stands behind it
};

// `text` begins between two events (or before the first); json_text_padding readable bytes follow
// it. `offset` is where it stands in the inflated file. With `final` no more text follows: a tail
// that cannot be completed is counted as truncated. Memory of `index` is reused.
ParsedStretch parse_events(std::string_view text, std::uint64_t offset, bool final,
                           JsonIndex& index, EventSink& sink);

}  // namespace stepscope
