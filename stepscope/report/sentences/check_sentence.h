// SPDX-License-Identifier: Apache-2.0
// Which figures of a run are worth a look.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/check.h"

namespace stepscope {

// "Worth a look: idle (6 of 7 checks could be made)."
[[nodiscard]] std::string check_sentence(const std::vector<CheckLine>& lines);

}  // namespace stepscope
