// SPDX-License-Identifier: Apache-2.0
// Messages as English. All sentences of stepscope's judgement stand in the catalogue, one row a
// kind: its number of places, and a text with these places.
//
//   {0}            the value: 4.65 ms, 12.3 %, 1.20, 3 GB, "rank 3", "ranks 0, 1", a name, or a
//                  message; of a list all, ", " between them
//   {0:.2f}        a number as fmt writes it
//   {0:listed}     ranks as "ranks 0, 4 and 8", many as "ranks 0, 2, 4 … 30 (16 in all)"; other
//                  lists as "a, b and c"
//   {0:^}          the value with a capital letter
//   {0:; }         the values of a list, "; " between them; ". " gives sentences
//   {0:processes}  ranks as {0}, names as "a and b", more than three as "4 processes"
//   {0|one|more}   the first text if the value is 1 or a list of one, else the second
//   {0?text|else}  the first text if the value is there and not false or empty, else the second,
//                  which may be left out
//
// The texts within braces may have places. A SENTENCE begins with a capital letter, and say() gives
// it one if it begins with a place. A PART stays as it is. No row ends with a full stop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/say/message.h"

namespace stepscope {

// Without a full stop at the end; empty of nothing.
[[nodiscard]] std::string say(const Message& message);
// With one, unless it is empty or ends with what was cut off ("…").
[[nodiscard]] std::string say_stopped(const Message& message);
// Each of them, without a full stop.
[[nodiscard]] std::vector<std::string> say_all(const Messages& messages);
// Whether a time in the message reads as this one.
[[nodiscard]] bool says_time(const Message& message, Ns time);
// The row of a kind.
[[nodiscard]] std::string_view text_of(MessageKind kind);

}  // namespace stepscope
