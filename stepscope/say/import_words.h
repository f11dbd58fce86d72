// SPDX-License-Identifier: Apache-2.0
// What the readers count (ImportNotes), in the words of a person who did not write the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

// One sentence without a stop: what was met how often, and what it means for the answer.
[[nodiscard]] std::string import_note_in_words(std::string_view reason, std::uint64_t count);

}  // namespace stepscope
