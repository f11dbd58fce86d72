// SPDX-License-Identifier: Apache-2.0
// What people call the categories of the time budget and the terms of the MFU budget.
#pragma once

#include <string_view>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/fit/mfu_budget.h"

namespace stepscope {

// On a CPU run operators are the device, so what lies between them has another name.
[[nodiscard]] std::string_view words_of(BudgetCategory category, bool cpu);
[[nodiscard]] std::string_view words_of(MfuTerm term, bool cpu);

}  // namespace stepscope
