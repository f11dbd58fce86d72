// SPDX-License-Identifier: Apache-2.0
// The budget of a rank written by hand, for tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {

using ExpectedBudget = std::map<BudgetCategory, std::int64_t>;

struct BudgetCase {
  Trace trace;
  RankIndex rank;
  std::vector<Step> steps;
  explicit BudgetCase(TraceBuilder& b) : trace(b.sealed()), rank(index_rank(trace)) {
    steps = find_steps(trace, rank);
  }
  [[nodiscard]] TimeBudget budget(const CommSplit& split = {}) const {
    return time_budget(trace, rank, steps, split);
  }
};

inline void expect_budget(const Budget& budget, const ExpectedBudget& expected) {
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    const auto category = static_cast<BudgetCategory>(c);
    const auto at = expected.find(category);
    EXPECT_EQ(budget[category].count(), at == expected.end() ? 0 : at->second)
        << budget_category_names[c];
  }
}

// The pieces must tile the only step, adjacent pieces must differ, and `at` gives each nanosecond's
// category.
template <class At>
void expect_pieces(const BudgetCase& c, const CommSplit& split, At&& at) {
  const TimeBudget budget = c.budget(split);
  const auto pieces = budget_pieces(c.trace, c.rank, c.steps, split, budget.rank());
  Ns cursor = c.steps[0].start;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(pieces[i].start, cursor);
    ASSERT_LT(pieces[i].start, pieces[i].end);
    ASSERT_TRUE(i == 0 || pieces[i].category != pieces[i - 1].category);
    for (; cursor < pieces[i].end; cursor += Ns{1})
      ASSERT_EQ(pieces[i].category, at(cursor.count())) << cursor.count();
  }
  ASSERT_EQ(cursor, c.steps[0].end);
}

inline const IdlePiece* piece_of(const DeviceBudget& device, BudgetCategory cause) {
  for (const IdlePiece& piece : device.idle)
    if (piece.cause == cause) return &piece;
  return nullptr;
}

}  // namespace stepscope
