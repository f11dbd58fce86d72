// SPDX-License-Identifier: Apache-2.0
// A small file on which the same check of ours fails, for a report. It has the rows of one step, or
// of the whole trace where no step alone is enough. Names that no public library gives are replaced
// by hashes, so it can be shown.
#pragma once

#include <functional>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// What the check says when the file is analysed; empty if none fails.
using FailedCheck = std::function<std::string(const std::string& file)>;

// `trace` is as it was read. Errors: `path` cannot be written; the check does not fail on the
// reduced file.
[[nodiscard]] Result<Done> write_reproducer(const Trace& trace, const StepOptions& steps,
                                            const std::string& check, const std::string& path,
                                            const FailedCheck& failed_check);

}  // namespace stepscope
