// SPDX-License-Identifier: Apache-2.0
// How readers of lists and tables collect step times (step_times.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/log/step_list.h"

namespace stepscope {

// An error with the hint what is read.
[[nodiscard]] Error no_step_times(std::string what, std::string_view path);
[[nodiscard]] Error too_many_steps(std::string_view path, std::size_t line);

// Whether a line is neither blank nor a comment.
[[nodiscard]] bool says_something(std::string_view line);
// A number of a step or rank; absent for fractions and what no 53 bits hold.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::optional<double> value);

// Whether nearly each row has a later time than the row before, as the rows of a clock have.
[[nodiscard]] bool grow_with_rows(std::span<const double> times);

// Times that are no step's are counted. `iteration`: absent if the input does not number its steps.
void take_step(StepTimes& times, double ns, std::string_view cause = {},
               std::optional<std::int64_t> iteration = {}, std::optional<double> tokens = {});
// Leaves out what is no time, or has no whole number of a rank and a step.
void take_rank_step(StepTimes& times, std::optional<double> rank, std::optional<double> step,
                    double ns);
// Sets the times of the steps by those of the ranks: the slowest rank's.
void take_slowest(StepTimes& times);
// Error: there is no step.
[[nodiscard]] Result<StepTimes> finished_steps(StepTimes times, std::string_view path);

}  // namespace stepscope
