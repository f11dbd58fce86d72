// SPDX-License-Identifier: Apache-2.0
// Whether B's steps differ from A's, and how sure that is. Which value of a sweep is fastest.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/compare.h"
#include "stepscope/pipeline/sweep.h"
#include "stepscope/say/message.h"

namespace stepscope {

// The verdict in one sentence, with its size and interval or with what is missing.
[[nodiscard]] Message compare_sentence(const Comparison& report);
// "p = 0.012".
[[nodiscard]] Message p_in_words(double p);

// The fastest value, and which tie with it.
[[nodiscard]] Message sweep_sentence(const SweepResult& report);
// Values that tie with the fastest.
[[nodiscard]] std::vector<std::string> ties_of(const Sweep& sweep);

}  // namespace stepscope
