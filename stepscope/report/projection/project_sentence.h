// SPDX-License-Identifier: Apache-2.0
// The answer of `stepscope project` in one sentence.
#pragma once

#include <string>

#include "stepscope/pipeline/project.h"

namespace stepscope {

// "On 64 GPUs (dp 16 tp 4) a step takes 412 ms (80 %: 398 to 426 ms); on the recorded 8 it takes
// 371 ms."
[[nodiscard]] std::string project_sentence(const ProjectResult& result);

// "dp 16 tp 4": the degrees above 1; "1 GPU" where there is none.
[[nodiscard]] std::string degrees_in_words(const JobShape& shape);

}  // namespace stepscope
