// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope hang`: who is missing where, first as a sentence, then with what they
// called; how NCCL connected them.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/hang.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

// "rank 5 is missing in all_reduce 78 of default_pg, where 7 ranks wait". No capital, no full stop.
[[nodiscard]] std::string finding_in_words(const HangResult& result, const HangFinding& finding);
// What the terminal opens with.
[[nodiscard]] std::string hang_sentence(const HangResult& result);
[[nodiscard]] std::string hang_text(const HangResult& result, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json hang_tree(const HangResult& result);

// "default_pg", "group 3", "the communicator 0x1f of 8 ranks".
[[nodiscard]] std::string group_in_words(const HangResult& result, std::uint32_t group);

}  // namespace stepscope
