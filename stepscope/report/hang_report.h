// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope hang`: who is missing where, first as a sentence, then with what they
// called; how NCCL connected them.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct HangReport {
  std::string version;
  const CommRecords* records = nullptr;
  const HangResult* result = nullptr;
  std::vector<std::string> warnings{};
};

// "rank 5 is missing in all_reduce 78 of default_pg, where 7 ranks wait". No capital, no full stop.
[[nodiscard]] std::string finding_in_words(const HangReport& report, const HangFinding& finding);
// What the terminal opens with.
[[nodiscard]] std::string hang_sentence(const HangReport& report);
// What the records cannot tell, and what was not understood in them.
[[nodiscard]] std::vector<std::string> hang_warnings(const CommRecords& records,
                                                     const HangResult& result);
[[nodiscard]] std::string hang_text(const HangReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json hang_tree(const HangReport& report);

// "default_pg", "group 3", "the communicator 0x1f of 8 ranks".
[[nodiscard]] std::string group_in_words(const HangReport& report, std::uint32_t group);

}  // namespace stepscope
