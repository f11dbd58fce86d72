// SPDX-License-Identifier: Apache-2.0
// Past runs for a terminal: what the newest one shows, and all of them in a table.
#pragma once

#include <string>

#include "stepscope/pipeline/history/runs.h"
#include "stepscope/report/terminal/text_options.h"
#include "stepscope/say/message.h"

namespace stepscope {

// One sentence: the newest run beside what it is compared with.
[[nodiscard]] Message runs_sentence(const RunsResult& result);
[[nodiscard]] std::string runs_text(const RunsResult& result, const TextOptions& options);
// One line: how many digests are where.
[[nodiscard]] std::string restored_text(const RestoredRun& result);

}  // namespace stepscope
