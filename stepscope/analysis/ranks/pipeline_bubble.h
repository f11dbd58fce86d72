// SPDX-License-Identifier: Apache-2.0
// What each stage of a pipeline does while it has no work: from the first forward of any stage in a
// step to the last backward of any, a rank's time is `work` and the bubble
//   fill     before its own first forward
//   between  from there to its own last backward
//   drain    after that
// each told apart by what runs meanwhile. Work and these nine sum to the time of the pipeline's
// step, in whole ns; they are the categories of the time budget (time_budget.h) of those stretches:
//   idle     every idle_*: nothing runs
//   message  exposed communication that is a message between stages: a kernel that waits for the
//            neighbour, or transfers
//   wait     comm_exposed_wait of other groups, no message beside it: the gradients' norm waits for
//            the last stage
//   work     the rest: compute, with or without communication; copies; communication of other
//            groups that transfers, or of which the traces cannot tell
//
// A forward of a later stage begins with the first compute after a forward message has come; of the
// first stage, with the first compute of its forward. The last backward ends where compute of the
// backward does (host_phases.h); where hosts do not tell, before the last message of a gradient.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/pipeline_schedule.h"
#include "stepscope/analysis/ranks/pipeline_stages.h"
#include "stepscope/analysis/steps/host_phases.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// Time without work, by what runs.
struct BubblePart {
  Ns idle{};
  Ns message{};
  Ns wait{};

  [[nodiscard]] Ns sum() const { return idle + message + wait; }
  BubblePart& operator+=(const BubblePart& other);
};

struct StageTimes {
  Ns wall{};    // of the pipeline's step; work + bubble()
  Ns work{};    // of all of it
  Ns passes{};  // work from its first forward to its last backward
  BubblePart fill;
  BubblePart between;
  BubblePart drain;

  [[nodiscard]] Ns bubble() const { return fill.sum() + between.sum() + drain.sum(); }
  StageTimes& operator+=(const StageTimes& other);
};

// One step on one stage; instants on the traces' clock.
struct StageStep {
  std::int64_t index = 0;  // Step::index
  Ns begin{};              // of the pipeline: first forward of any of its stages
  Ns end{};                // and last backward
  Ns first_forward{};      // of this one
  Ns last_backward{};
  StageTimes times;
};

// One traced rank.
struct StageBubble {
  std::uint32_t view = 0;
  int rank = 0;
  std::uint32_t pipeline = 0;
  int stage = 0;
  std::vector<StageStep> steps;  // those in which it sends or receives between stages
  StageTimes total;              // over them
};

struct PipelineBubble {
  int stages = 0;                    // p
  std::optional<int> passes;         // forward passes of a stage in a step: m v
  std::optional<int> micro_batches;  // m; absent where neither the first nor the last stage tells
  std::optional<int> chunks;         // v
  PipelineSchedule schedule = PipelineSchedule::unknown;
  std::vector<StageBubble> ranks;     // by pipeline, then stage
  std::vector<int> missing;           // stages of which a traced pipeline has no rank
  std::vector<std::string> warnings;  // what could not be told, in sentences

  // (p − 1) / (m v) of its passes; absent where their number is not known.
  [[nodiscard]] std::optional<Ns> by_schedule(const StageBubble& stage) const;
};

struct PipelineInputs {
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const HostPhases> phases;  // by view
  std::span<const std::size_t>
      devices;  // by view: place in RankIndex::devices (TimeBudget::chosen)
};

// Whether a call passes activations or gradients between stages.
[[nodiscard]] bool is_stage_message(const CollectiveCall& call,
                                    std::span<const Dimension> dimension_of);

// Absent where no traced rank with a device sends or receives between stages; the rows of a CPU
// backend do not tell who a message is for. Where clocks are not comparable
// each rank's step is its own, from its first forward to its last backward: fill and drain are zero
// and a warning says so. O(slices log slices) a view with messages.
[[nodiscard]] std::optional<PipelineBubble> pipeline_bubble(const PipelineInputs& inputs);

}  // namespace stepscope
