// SPDX-License-Identifier: Apache-2.0
// What people and programs see of past runs: the public JSON, the terminal's text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/runs/runs.h"

namespace stepscope {

[[nodiscard]] Json runs_tree(const RunsResult& result);
[[nodiscard]] Json restored_tree(const RestoredRun& result);

// One sentence: the newest run and what it is compared with.
[[nodiscard]] Message runs_sentence(const RunsResult& result);
[[nodiscard]] std::string runs_text(const RunsResult& result, const TextOptions& options);
// One line: how many digests are where.
[[nodiscard]] std::string restored_text(const RestoredRun& result);

}  // namespace stepscope
