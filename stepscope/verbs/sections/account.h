// SPDX-License-Identifier: Apache-2.0
// The account of the terminal: where the step goes, largest first, with bars. Each percent is
// rounded by itself, as wherever else the same figure stands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/fit/mfu_budget.h"

namespace stepscope {

struct AccountLine {
  std::string name;
  double ns = 0;
  double percent = 0;
  std::string note{};  // behind the bar
};

// More lines than any account has.
inline constexpr std::size_t every_line = 100;

// Lines under 0.1 %, and those beyond the last of `most_lines`, become one, "n smaller causes";
// empty lines are left out. A negative line (recompute, where the model FLOPs given are too many)
// counts.
[[nodiscard]] std::string account_text(std::vector<AccountLine> lines,
                                       std::size_t most_lines = every_line);

// The account of the budget categories: mean over ranks and steps, with the rank that stands out.
// `a_day`: the price of a day on all devices; each loss then says its part.
[[nodiscard]] std::string budget_account(const JobResult& job, std::size_t most_lines = every_line,
                                         std::optional<double> a_day = std::nullopt);
// Whether time of the category is lost: all but compute, hidden communication included.
[[nodiscard]] constexpr bool is_loss(BudgetCategory category) {
  return category != BudgetCategory::compute && category != BudgetCategory::comm_overlapped;
}
// The account of the job's peak. Without model FLOPs the time of the executed products at the peak
// (HFU) is a line of its own.
[[nodiscard]] std::string mfu_account(const MfuBudget& mfu, bool cpu,
                                      std::size_t most_lines = every_line);

}  // namespace stepscope
