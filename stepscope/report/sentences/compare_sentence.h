// SPDX-License-Identifier: Apache-2.0
// Whether B's steps differ from A's, and how sure that is.
#pragma once

#include <string>

#include "stepscope/pipeline/compare.h"

namespace stepscope {

// The verdict in one sentence, with its size and interval or with what is missing.
[[nodiscard]] std::string compare_sentence(const Comparison& report);
// "p = 0.012".
[[nodiscard]] std::string p_in_words(double p);

}  // namespace stepscope
