// SPDX-License-Identifier: Apache-2.0
// Answers every question about one run in order: ranks are indexed and divided into steps,
// collectives are matched over all ranks, clocks are put on one time axis, and then each rank is
// accounted for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/runs/job_result.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/stop.h"

namespace stepscope {

struct JobOptions {
  StepOptions steps;
  std::optional<std::int64_t> first_step;  // --steps A:B, by Step::index, both included
  std::optional<std::int64_t> last_step;
  std::optional<int> world_size;
  GroupDimensions dimensions;
  ParallelSizes sizes;  // --tp/--pp/--dp
  bool timeline = false;
  bool details = true;              // of the traces stay; else release_details() before the replay
  bool explain = true;              // the graph, its critical path, blame and standing what-ifs
  std::vector<Scenario> scenarios;  // what-ifs instead of the standing ones
  MessageModel messages;            // of the named machine, if any (what_if.h); may be empty
  bool standing = true;             // the standing what-ifs, unless there are scenarios
  ReplayVisitor visit;              // called once if there is a replay, also one that answers no
                                    // what-if; may be empty
  Workers threads{};
  const StopFlag* stop = nullptr;  // checked between questions
};

struct RankInput {
  int rank = 0;
  Trace* trace = nullptr;  // its instants are corrected if clocks are aligned
};

// Ranks in ascending order, each once. If clocks are aligned (ClockAlignment::applied), the
// traces are put on the common time axis for all later uses. O(N log N) in the number of rows.
[[nodiscard]] JobResult analyze_job(std::span<const RankInput> ranks,
                                    const JobOptions& options = {});

// The timeline of ranks that analyze_job() accounted for with these options, whose `timeline` was
// not asked for then.
[[nodiscard]] Timeline timeline_of(std::span<const RankInput> ranks, const JobOptions& options);

}  // namespace stepscope
