// SPDX-License-Identifier: Apache-2.0
// What people and programs see of the events that the files of a job show: sentences, the timeline,
// the public JSON (docs/reference/json/hang.md).
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

// "Rank 5 ran out of device memory at 12:00:01 (the first error in the files)"; nothing
// without such an event.
[[nodiscard]] Message cause_in_words(const HangResult& result);
// The first event of any kind; nothing without events.
[[nodiscard]] Message first_event_in_words(const HangResult& result);
// The status of NCCL's RAS: who is behind, dead or silent; one message each.
[[nodiscard]] Messages ras_in_words(const HangResult& result);
// "ranks 0, 1, 3 are in collective; rank 2 is in data loading (main (train.py:190))", by dumps of
// threads; "rank 1 waits for rank 0 of its group, …", by what processes wrote as they joined the
// job. Nothing without either.
[[nodiscard]] Message standing_in_words(const HangResult& result);
// The last line and the first error of the ranks that are missing, and ranks without a line in any
// file.
[[nodiscard]] Messages suspects_in_words(const HangResult& result);
// Verdicts and advice on messages of allocators.
[[nodiscard]] Messages ooms_in_words(const HangResult& result);

// At most 18 rows; empty with fewer than two events.
[[nodiscard]] std::string timeline_text(const HangResult& result, std::size_t width);
[[nodiscard]] Json incident_json(const HangResult& result);

}  // namespace stepscope
