// SPDX-License-Identifier: Apache-2.0
// What people call the categories of the time budget and the terms of the MFU budget.
#pragma once

#include <cstddef>
#include <string_view>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {

// On a CPU run operators are the device, so what lies between them has another name.
[[nodiscard]] inline std::string_view words_of(BudgetCategory category, bool cpu) {
  return label_of("budget", budget_category_names[static_cast<std::size_t>(category)], cpu);
}
[[nodiscard]] inline std::string_view words_of(MfuTerm term, bool cpu) {
  return label_of("mfu", mfu_term_names[static_cast<std::size_t>(term)], cpu);
}

}  // namespace stepscope
