// SPDX-License-Identifier: Apache-2.0
// Schedules of a pipeline and their idle time if all stages take equally long. With p stages, m
// micro-batches and v chunks of the model per stage, each stage idles (p − 1)/(m v) of the time of
// its passes: GPipe (Huang et al. 2019 §2.3) and 1F1B (Narayanan et al. 2021 §2.2.1) with v = 1,
// and interleaved (§2.2.2). A zero-bubble schedule looks like 1F1B here: weight gradients fill the
// bubble, so the measured bubble is smaller than this value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/quantity.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class PipelineSchedule : std::uint8_t { unknown, gpipe, one_f_one_b, interleaved };
inline constexpr std::array<std::string_view, 4> pipeline_schedule_names = {"unknown", "gpipe",
                                                                            "1f1b", "interleaved"};
static_assert(pipeline_schedule_names[static_cast<std::size_t>(PipelineSchedule::interleaved)] ==
              "interleaved");
// Name for sentences: "GPipe", "1F1B", "interleaved"; "unknown order".
[[nodiscard]] std::string_view words_of(PipelineSchedule schedule);

// The number of forward passes a stage had done when its first backward began.
struct StageWarmUp {
  int stage = 0;
  int forwards = 0;
};

// Recognises the schedule by the number of forwards before the first backward. GPipe: m v. 1F1B:
// min(m, p − s) on stage s. Interleaved: min(m v, 2 (p − 1 − s) + (v − 1) p + 1). A receive that
// was posted early adds one, so a deviation of one is accepted. GPipe if both are equal.
[[nodiscard]] PipelineSchedule recognise_schedule(int stages, int micro_batches, int chunks,
                                                  std::span<const StageWarmUp> stages_seen);

// The idle time of a stage per step by the formula (stages − 1) / passes of `work`. `work` is the
// time of its passes; `passes` is m v.
[[nodiscard]] Ns bubble_by_schedule(int stages, int passes, Ns work);

// The pipeline and stage of each rank, from the process groups of the pipeline dimension
// (dimensions.h). Groups that share a rank are one pipeline. Its stages are in the order of its
// largest group if that contains all its ranks, else in the order of ranks: then each pair of
// neighbours has its own group, and stages follow one another.

struct PipelinePlace {
  std::uint32_t pipeline = 0;  // row of Pipelines::ranks
  int stage = 0;
};

struct Pipelines {
  std::vector<std::vector<int>> ranks;                // of each pipeline, by stage, traced or not
  std::vector<std::optional<PipelinePlace>> of_view;  // absent: in no known pipeline

  // Absent for a rank of another pipeline.
  [[nodiscard]] std::optional<int> stage_of(std::uint32_t pipeline, int rank) const;
};

// Groups without recorded ranks are ignored. O(groups · ranks).
[[nodiscard]] Pipelines find_pipelines(std::span<const RankView> views,
                                       const CollectiveMatches& matches,
                                       std::span<const Dimension> dimension_of);

// The time of each pipeline stage without work. A pipeline's step lasts from the first forward of
// any stage to the last backward of any stage. A rank's time in it is `work` plus the bubble:
//   fill     before its own first forward
//   between  from there to its own last backward
//   drain    after that
// Each part is divided by the activity during it. Work and these nine values sum to the time of the
// pipeline's step, in whole ns. They are categories of the time budget (time_budget.h):
//   idle     every idle_*: nothing runs. Not idle_host of a CPU-only trace: the thread then runs
//   what
//            has no row, and that is work
//   message  exposed communication that is a message between stages: its kernel transfers, or waits
//            for the neighbour
//   wait     comm_exposed_wait of other groups without a message at the same time, such as the wait
//            of the gradients' norm for the last stage
//   work     the rest: compute, with or without communication; copies; communication of other
//            groups that transfers or is not split
//
// A forward of a later stage begins with the first compute after a forward message has arrived. A
// forward of the first stage begins with its own first compute. The last backward ends with the
// last compute of the backward (host_phases.h). If the host shows no phases, it ends before the
// last gradient message.

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
  std::vector<StageBubble> ranks;  // by pipeline, then stage
  std::vector<int> missing;        // stages without a traced rank, in traced pipelines
  Messages warnings;               // facts that could not be determined

  // (p − 1) / (m v) of its passes; absent if the number of passes is unknown.
  [[nodiscard]] std::optional<Ns> by_schedule(const StageBubble& stage) const;
};

struct PipelineInputs {
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const HostPhases> phases;  // by view
  std::span<const std::size_t>
      devices;        // by view: index into TimeBudget::devices (TimeBudget::chosen)
  Workers workers{};  // share the ranks
};

// True if a call passes activations or gradients between stages.
[[nodiscard]] bool is_stage_message(const CollectiveCall& call,
                                    std::span<const Dimension> dimension_of);

// Absent if no traced rank sends or receives between stages within a step, if the peers of its
// messages are unknown, or if no compute fits them. If clocks are not comparable, each rank's step
// lasts from its own first forward to its own last backward: fill and drain are zero, and a warning
// says so. O(slices log slices) per view with messages.
[[nodiscard]] std::optional<PipelineBubble> pipeline_bubble(const PipelineInputs& inputs);

}  // namespace stepscope
