// SPDX-License-Identifier: Apache-2.0
// The answer to "is my job fine?": what is wrong now, of what is seen, and what is not seen.
#pragma once

#include <optional>
#include <string>

#include "stepscope/pipeline/live.h"

namespace stepscope {

struct LiveAnswer {
  std::optional<bool> fine{};  // absent: nothing is known yet
  std::string sentence{};      // what is wrong, the worst first; else what is seen to be right
  std::string unseen{};        // what no source tells; empty: nothing is missing
};

[[nodiscard]] LiveAnswer live_answer(const LiveView& view);

}  // namespace stepscope
