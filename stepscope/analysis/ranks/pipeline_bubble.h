// SPDX-License-Identifier: Apache-2.0
// The time of each pipeline stage without work. A pipeline's step lasts from the first forward of
// any stage to the last backward of any stage. A rank's time in it is `work` plus the bubble:
//   fill     before its own first forward
//   between  from there to its own last backward
//   drain    after that
// Each part is divided by the activity during it. Work and these nine values sum to the time of the
// pipeline's step, in whole ns. They are categories of the time budget (time_budget.h):
//   idle     every idle_*: nothing runs
//   message  exposed communication that is a message between stages: its kernel transfers, or waits
//            for the neighbour
//   wait     comm_exposed_wait of other groups without a message beside it, such as the wait of the
//            gradients' norm for the last stage
//   work     the rest: compute, with or without communication; copies; communication of other
//            groups that transfers or is not split
//
// A forward of a later stage begins with the first compute after a forward message has arrived. A
// forward of the first stage begins with its own first compute. The last backward ends with the
// last compute of the backward (host_phases.h). If the host shows no phases, it ends before the
// last gradient message.
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
#include "stepscope/base/crew.h"

namespace stepscope {

// Time without work, by activity.
struct BubblePart {
  Ns idle{};
  Ns message{};
  Ns wait{};

  [[nodiscard]] Ns sum() const { return idle + message + wait; }
  BubblePart& operator+=(const BubblePart& other);
};

struct StageTimes {
  Ns wall{};    // of the pipeline's step; work + bubble()
  Ns work{};    // of the whole step
  Ns passes{};  // work from the first forward to the last backward of this stage
  BubblePart fill;
  BubblePart between;
  BubblePart drain;

  [[nodiscard]] Ns bubble() const { return fill.sum() + between.sum() + drain.sum(); }
  StageTimes& operator+=(const StageTimes& other);
};

// One step on one stage. Instants are on the traces' clock.
struct StageStep {
  std::int64_t index = 0;  // Step::index
  Ns begin{};              // of the pipeline: first forward of any stage
  Ns end{};                // of the pipeline: last backward of any stage
  Ns first_forward{};      // of this stage
  Ns last_backward{};
  StageTimes times;
};

// One traced rank.
struct StageBubble {
  std::uint32_t view = 0;
  int rank = 0;
  std::uint32_t pipeline = 0;
  int stage = 0;
  std::vector<StageStep> steps;  // steps in which it sends or receives between stages
  StageTimes total;              // sum over `steps`
};

struct PipelineBubble {
  int stages = 0;                    // p
  std::optional<int> passes;         // forward passes of a stage per step: m v
  std::optional<int> micro_batches;  // m; absent if neither the first nor the last stage shows it
  std::optional<int> chunks;         // v
  PipelineSchedule schedule = PipelineSchedule::unknown;
  std::vector<StageBubble> ranks;     // by pipeline, then stage
  std::vector<int> missing;           // stages without a traced rank, in traced pipelines
  std::vector<std::string> warnings;  // facts that could not be determined, as sentences

  // (p − 1) / (m v) of its passes; absent if the number of passes is unknown.
  [[nodiscard]] std::optional<Ns> by_schedule(const StageBubble& stage) const;
};

struct PipelineInputs {
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const HostPhases> phases;  // by view
  std::span<const std::size_t>
      devices;        // by view: index into RankIndex::devices (TimeBudget::chosen)
  Workers workers{};  // share the ranks
};

// True if a call passes activations or gradients between stages.
[[nodiscard]] bool is_stage_message(const CollectiveCall& call,
                                    std::span<const Dimension> dimension_of);

// Absent if no traced rank with a device sends or receives between stages; the rows of a CPU
// backend do not show a message's receiver. If clocks are not comparable, each rank's step lasts
// from its own first forward to its own last backward: fill and drain are zero, and a warning says
// so. O(slices log slices) per view with messages.
[[nodiscard]] std::optional<PipelineBubble> pipeline_bubble(const PipelineInputs& inputs);

}  // namespace stepscope
