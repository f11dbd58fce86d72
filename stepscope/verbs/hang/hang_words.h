// SPDX-License-Identifier: Apache-2.0
// The sentences about a job that stands still.
#pragma once

#include <cstdint>

#include "stepscope/say/message.h"
#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

// "default_pg", "group 3", "the communicator 0x1f of 8 ranks".
[[nodiscard]] Message group_in_words(const HangResult& result, std::uint32_t group);
// The number of a call as its source writes it: NCCL's logs have hexadecimal ones. Nothing if the
// source lacks it.
[[nodiscard]] Value number_of_call(const HangResult& result, std::uint32_t group,
                                   std::int64_t sequence);
// "rank 5 is missing in all_reduce 78 of default_pg, where 7 ranks wait".
[[nodiscard]] Message finding_in_words(const HangResult& result, const HangFinding& finding);
// What the files show of the calls and of the end; nothing if they show neither.
[[nodiscard]] Message evidence_in_words(const HangResult& result);
// The sentence of the first finding, or that nothing was found.
[[nodiscard]] Message hang_sentence(const HangResult& result);

}  // namespace stepscope
