// SPDX-License-Identifier: Apache-2.0
// The steps of a job: those that all ranks have, those that count, and the mean step over ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/rank_result.h"
#include "stepscope/stats/summary.h"

namespace stepscope {

struct JobStep {
  std::int64_t index = 0;
  Ns start{};  // of the first rank that begins
  Ns wall{};   // max end − min start if clocks are comparable, else the longest
  std::vector<int> ranks;
};

struct MissingStep {
  int rank = 0;
  std::int64_t index = 0;
};

// A rank whose file ends too early (incomplete_steps.h).
struct CutRank {
  int rank = 0;
  std::vector<std::int64_t> steps;  // broken and left out, ascending; of those asked for
  bool window = false;              // the whole trace was one step, and is left out
  std::size_t whole = 0;            // steps that are left
};

// The spread of one category over ranks, per step.
struct CategorySpread {
  double mean = 0;
  double worst = 0;
  int worst_rank = 0;
  std::optional<double> stdev;
  double least = 0;
};

struct JobSteps {
  std::vector<JobStep> common;  // steps that every rank has
  // The steps that count, and their lengths: the same for every verb (counted_steps.h). If no step
  // counts, the steps that every rank has.
  std::vector<Step> counted;
  std::optional<Summary> summary;  // of these lengths, in ns
  // First and last index of any rank, including those that were not asked for.
  std::optional<std::pair<std::int64_t, std::int64_t>> recorded;
  std::vector<MissingStep> missing;  // steps that a rank lacks; not part of the means
  std::vector<CutRank> cut;          // by rank; their broken steps are not in `missing`
  Budget mean;                       // over ranks and steps, per step, rounded to ns
  std::array<CategorySpread, budget_category_count> spread{};
  std::vector<PhaseSummary> phases;  // over all ranks
};

// Fills `common` and `missing`.
void join_steps(std::span<const RankResult> ranks, bool clocks_comparable, JobSteps& job);
// Fills `counted` and `summary`; afterwards `mean`, `spread` and `phases`, by the ranks' counted
// steps. `counted`: CountedSteps::of_job.
void average_steps(std::span<const RankResult> ranks, std::vector<Step> counted, JobSteps& job);

}  // namespace stepscope
