// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline side by side: what each works and idles a step, and which has most to
// do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/say/message.h"

namespace stepscope {

// One stage, means over its ranks and steps, in ns.
struct StageMean {
  std::size_t ranks = 0;
  int rank = 0;  // of one of them
  double wall = 0;
  double work = 0;
  double fill = 0;
  double between = 0;
  double drain = 0;
  double idle = 0;
  double message = 0;
  double wait = 0;
  std::optional<double> schedule = 0;
  std::optional<double> imbalance = 0;
  std::optional<double> links = 0;
  double rest = 0;

  [[nodiscard]] double bubble() const { return fill + between + drain; }
};

// The shares of a bubble in a job with a pipeline: those of each rank, parallel to its ranks, by
// the replay where there is one; and each stage.
[[nodiscard]] std::vector<BubbleShares> bubble_shares_of(const JobResult& job);
[[nodiscard]] std::vector<StageMean> stage_means(const JobResult& job);

// Idle time over the time of a stage's passes, were all stages alike.
[[nodiscard]] std::optional<double> schedule_share(const PipelineBubble& bubble);

// Work over work and bubble: of the traced stages, and were all stages alike.
[[nodiscard]] std::optional<double> pipeline_efficiency(const JobResult& job);
[[nodiscard]] std::optional<double> even_efficiency(const PipelineBubble& bubble);

// What the traced stages of a pipeline idle for lack of work, a step, in the mean; zero without a
// pipeline.
[[nodiscard]] Ns bubble_of_stages(const JobResult& job);

// "4 stages, 8 micro-batches, 2 chunks a stage, interleaved".
[[nodiscard]] Message shape_words(const PipelineBubble& bubble);

// "-" for none.
[[nodiscard]] std::string signed_or_dash(std::optional<double> ns);

// The stage with most work; absent where fewer than two stages were traced.
struct BusiestStage {
  int stage = 0;
  double more = 0;  // its work ÷ the mean of the other stages' − 1
  Messages evidence;
};
[[nodiscard]] std::optional<BusiestStage> busiest_stage(const JobResult& job);

}  // namespace stepscope
