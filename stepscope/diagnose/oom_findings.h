// SPDX-License-Identifier: Apache-2.0
// What the message of an allocator that found no room gives reason to say.
#pragma once

#include <map>
#include <string>

#include "stepscope/analysis/memory/oom_account.h"
#include "stepscope/event/oom_message.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "rank 3, device 0", "the host's pinned memory".
[[nodiscard]] Message oom_place(const OomMessage& message);
// "Rank 3, device 0 had no room for 20 MB: …".
[[nodiscard]] Message oom_sentence(const OomMessage& message, const OomAccount& account);
// What to try, the most promising first.
[[nodiscard]] Messages oom_advice(const OomMessage& message, const OomAccount& account);

// The prediction of the job that its log describes (Incident::settings, the size of the job if it
// is known); empty if the log gives less than two figures of its plan.
[[nodiscard]] std::string predict_command(
    const std::map<std::string, std::string, std::less<>>& settings, int world);

}  // namespace stepscope
