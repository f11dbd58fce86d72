// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a job that stands still: sentences, the public JSON
// (docs/reference/json/hang.md), the terminal's text.
#pragma once

#include <cstdint>
#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

// "default_pg", "group 3", "the communicator 0x1f of 8 ranks".
[[nodiscard]] Message group_in_words(const HangResult& result, std::uint32_t group);
// "rank 5 is missing in all_reduce 78 of default_pg, where 7 ranks wait".
[[nodiscard]] Message finding_in_words(const HangResult& result, const HangFinding& finding);
// The sentence of the first finding, or that nothing was found.
[[nodiscard]] Message hang_sentence(const HangResult& result);

[[nodiscard]] Json hang_tree(const HangResult& result);

[[nodiscard]] std::string hang_text(const HangResult& result, const TextOptions& options = {});

}  // namespace stepscope
