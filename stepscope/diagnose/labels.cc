// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/labels.h"

#include <cstddef>

#include "stepscope/say/vocabulary.h"

namespace stepscope {

std::string_view words_of(BudgetCategory category, bool cpu) {
  return label_of("budget", budget_category_names[static_cast<std::size_t>(category)], cpu);
}

std::string_view words_of(MfuTerm term, bool cpu) {
  return label_of("mfu", mfu_term_names[static_cast<std::size_t>(term)], cpu);
}

}  // namespace stepscope
