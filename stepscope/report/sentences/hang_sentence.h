// SPDX-License-Identifier: Apache-2.0
// Who is missing where, in a sentence each.
#pragma once

#include <cstdint>

#include "stepscope/pipeline/hang.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "default_pg", "group 3", "the communicator 0x1f of 8 ranks".
[[nodiscard]] Message group_in_words(const HangResult& result, std::uint32_t group);
// "rank 5 is missing in all_reduce 78 of default_pg, where 7 ranks wait".
[[nodiscard]] Message finding_in_words(const HangResult& result, const HangFinding& finding);
// Of the first finding, or that there is none.
[[nodiscard]] Message hang_sentence(const HangResult& result);

}  // namespace stepscope
