// SPDX-License-Identifier: Apache-2.0
// What `analyze` prints first, in twenty lines for a usual case: the cause, its cost and remedy,
// the command, where the step goes, and what takes most of it.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/text/text_options.h"
#include "stepscope/say/message.h"

namespace stepscope {

[[nodiscard]] std::string first_screen_text(const Analysis& report, const TextOptions& options);

// ---- its parts -------------------------------------------------------------------------------
// "8 ranks · NVIDIA H100 80GB HBM3 · steps 12–21 · 1.2 GB read in 1.4 s"
[[nodiscard]] std::string headline(const Analysis& report);
// Where the inputs hold several jobs: each with its files, ranks, steps, time and command; else
// empty.
[[nodiscard]] std::string jobs_table(const Analysis& report, std::size_t width);
// The answer and what to do about it.
[[nodiscard]] std::string answer_text(const Analysis& report, const TextOptions& options);
// Where the step goes, in at most `most_lines` below the title.
[[nodiscard]] std::string account_of_step(const Analysis& report, std::size_t most_lines);
// The first `most` findings in addition to what the first sentence states.
[[nodiscard]] std::string first_findings(const Analysis& report, std::size_t most,
                                         std::size_t width);
// What the answer rests on, or lacks.
[[nodiscard]] Messages notes(const Analysis& report);
// Wrapped under "note: ".
[[nodiscard]] std::string note_text(const Message& note, std::size_t width);

}  // namespace stepscope
