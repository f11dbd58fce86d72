// SPDX-License-Identifier: Apache-2.0
// The number of a step in a line of a program that no dialect knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

struct StepNumber {
  std::int64_t number = -1;             // -1: there is no number
  std::int64_t of = 0;                  // M of "12/M"; 0: none
  std::optional<std::int64_t> epoch{};  // a whole one
};
// Reads "step 12", "iter: 12/500", "\"global_step\": 12". The name begins a word that is no part of
// a source's place ("trainer:after_iter:238").
[[nodiscard]] StepNumber number_of_step(std::string_view line);

// What was counted before the numbers of this epoch.
struct EpochCount {
  std::optional<std::int64_t> epoch{};
  std::int64_t before = 0;
  std::int64_t last = -1;
};
// The number of a step if the numbers restart in each epoch: it goes on from the first epoch of the
// log. -1 without a number.
[[nodiscard]] std::int64_t continued(EpochCount& count, const StepNumber& step);

}  // namespace stepscope
