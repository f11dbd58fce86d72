// SPDX-License-Identifier: Apache-2.0
// A job that a caller of its own follows: the arguments of `stepscope live`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepscope/verbs/live/live.h"

namespace stepscope {

inline constexpr std::size_t lines_of_once = 60;  // of the text with --once

// Errors: wrong usage, a source does not exist.
[[nodiscard]] Result<LiveFollower> follow_job(const std::vector<std::string>& arguments);

}  // namespace stepscope
