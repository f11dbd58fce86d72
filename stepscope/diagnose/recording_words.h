// SPDX-License-Identifier: Apache-2.0
// What the recording of a job lacks.
#pragma once

#include <span>

#include "stepscope/diagnose/analysis.h"

namespace stepscope {

// Which inputs end too early, where, and which steps that broke: "trace.json is cut off at byte
// 512: steps 5 and 6 of rank 0 are incomplete and left out". Nothing where nothing is cut.
[[nodiscard]] Message cut_sentence(std::span<const InputRow> inputs, const JobResult& job);

// What changes the answer about the recording, to stand before it. The first that applies: rows of
// several ranks or of no category; a file that is cut; launches whose device rows are lost; time
// that is not recorded; start-up within the steps, and a window that is a small part of the
// recording or begins after much start-up.
// Empty if no case applies.
[[nodiscard]] Message recording_sentence(std::span<const InputRow> inputs, const JobResult& job);

// Whether nothing can be concluded from the rows: those of several ranks are mixed, or it is not
// known what they are. recording_sentence() says so.
[[nodiscard]] bool unaccountable(const JobResult& job);

// The step before the recording, where recorded steps are longer by a tenth or more: "Steps before
// the recording took 21.0 ms: recording slows the host, so its part may be overstated". Else
// nothing.
[[nodiscard]] Message slowed_sentence(const JobResult& job);

// One line for each reason why device rows are missing, with the remedy.
[[nodiscard]] Messages lost_rows_warnings(const JobResult& job);

}  // namespace stepscope
