// SPDX-License-Identifier: Apache-2.0
// The number of a step in a line of a program that no dialect knows.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

// Reads "step 12", "iter: 12/500", "\"global_step\": 12". The name begins a word that is no part of
// a source's place ("trainer:after_iter:238"). -1 without a number.
[[nodiscard]] std::int64_t number_of_step(std::string_view line);

}  // namespace stepscope
