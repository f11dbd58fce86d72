// SPDX-License-Identifier: Apache-2.0
// A running job for the terminal: the curve of its step times, its ranks by lateness, waiting and
// transfer, what happened, and how much of the job was seen.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/verbs/live/live.h"

namespace stepscope {

// At most `height` lines (of 12 or more). Lines end with '\n'.
[[nodiscard]] std::string live_text(const LiveView& view, const TextOptions& options,
                                    std::size_t height);
// One line for a log: the time followed, the steps, who is late, what is missing.
[[nodiscard]] std::string live_line(const LiveView& view);

}  // namespace stepscope
