// SPDX-License-Identifier: Apache-2.0
// A slow, forgiving parser of one event: unescaped quotes or a trailing backslash in names, missing
// commas, bare inf and nan. PyTorch wrote all of these. It also finds the next event behind one
// that cannot be mended.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "stepscope/read/rows/event_fields.h"
#include "stepscope/read/rows/event_scan.h"

namespace stepscope {

// Reads the event that begins at text[0] == '{'. On complete, `consumed` is its length. incomplete:
// the text ends inside it. With `more`, further text may follow; the answer is then given only if
// that text could not change it.
Scan mend_event(std::string_view text, bool more, std::size_t& consumed, RawEvent& event);

// Calls member(key, value) for each member of a JSON object text. False if it is not an object or
// ends early.
bool walk_members(std::string_view object,
                  const std::function<void(std::string_view, const RawValue&)>& member);

inline constexpr std::size_t not_found = static_cast<std::size_t>(-1);
// The first position at or after `from`, or the last before `to`, where an event begins: a '{'
// behind a comma (or the array's '[') and before a known event key. The search is lexical, so text
// inside a string may deceive it; callers verify.
[[nodiscard]] std::size_t find_event_start(std::string_view text, std::size_t from);
[[nodiscard]] std::size_t find_last_event_start(std::string_view text);

// The text of a JSON string. Escapes are decoded, unknown ones are kept.
[[nodiscard]] std::string unescape(std::string_view raw);

}  // namespace stepscope
