// SPDX-License-Identifier: Apache-2.0
// Which value of a sweep is fastest, and which tie with it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/sweep.h"

namespace stepscope {

[[nodiscard]] std::string sweep_sentence(const SweepResult& report);
// Values that tie with the fastest.
[[nodiscard]] std::vector<std::string> ties_of(const Sweep& sweep);

}  // namespace stepscope
