// SPDX-License-Identifier: Apache-2.0
// What one (virtual) stage of a pipeline costs its device for one micro-batch: its layers, with the
// embedding before the first and the head after the last.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/cost/step/pipeline.h"
#include "stepscope/cost/time/layer_cost.h"

namespace stepscope {

struct CostContext;
struct DataEntry;
struct OffloadRates;

// Seconds of a unit (a layer, the embedding, the head) that ZeRO-3 gathers and reduces as one.
struct UnitTime {
  double gather = 0;
  double reduce = 0;
  double gather_copying = 0;  // of these, as PieceTime::copying
  double reduce_copying = 0;
};

struct StageCost {
  PassTime forward;
  PassTime backward;  // without `again`; with the summing of gradients
  PassTime again;
  double weight_gradient = 0;
  // ZeRO-3's gathers and reductions, and parameters fetched from the host, as far as compute does
  // not hide them.
  double data_forward = 0;
  double data_backward = 0;
  double fetch_forward = 0;
  double fetch_backward = 0;
  // To schedule the passes and start their sends; of sends, what the passes of one of several
  // chunks do not hide. Without a pipeline 0.
  double pass_forward = 0;
  double pass_backward = 0;
  double parameters = 0;
  double expert_parameters = 0;
  double unit_parameters = 0;  // of the largest unit
  double unit_expert_parameters = 0;
  double layer_parameters = 0;  // of the largest layer, with experts
  double end_parameters = 0;    // of embedding and head
  double kept_bytes = 0;
  double workspace_bytes = 0;
  double logits_bytes = 0;
  UnitTime first;  // of the unit that starts the stage
  UnitTime last;   // the unit whose gradients come last

  [[nodiscard]] StageTime time() const {
    return {.forward = Seconds{forward.total() + data_forward + fetch_forward + pass_forward},
            .backward = Seconds{backward.total() + again.total() + data_backward + fetch_backward +
                                pass_backward},
            .weight = Seconds{weight_gradient}};
  }
};

// What stages and their pipeline depend on beside a context's shape and layers of each stage: plans
// that differ elsewhere (ZeRO 0 and 1, who reduces when, the optimizer's place) share them.
struct StageKey {
  std::array<std::int64_t, 11> numbers{};
  std::array<std::uint8_t, 8> choices{};

  bool operator==(const StageKey&) const = default;
};
[[nodiscard]] StageKey stage_key(const Plan& plan);

// Virtual stages in model order; stages that cost the same share a StageCost.
struct Stages {
  std::vector<StageCost> costs;
  std::vector<std::uint32_t> cost_of;
  std::vector<StageTime> times;
  std::vector<std::int64_t> layers;  // of each
  double boundary_bytes = 0;         // that one micro-batch passes on from stage to stage
  // Of each device of the pipeline: whether all its stages cost what those of the device before it
  // do.
  std::vector<std::uint8_t> as_before;
  std::optional<StageKey> made_for;

  [[nodiscard]] const StageCost& operator[](std::size_t stage) const {
    return costs[cost_of[stage]];
  }
};

// How far the latest of n ranks is behind their mean, of a layer's time: jitter sqrt(2 ln n), which
// the expected maximum of n normal variables nears from below (Cramer 1946, 28.6).
[[nodiscard]] double latest_rank(const ComputeModel& compute, std::int64_t ranks);

// Whether the context's stages are those of this plan.
[[nodiscard]] bool has_stages(const CostContext& context, const Plan& plan);

// Fills context.stages; allocates nothing once it has held as many.
void make_stages(CostContext& context, const DataEntry& data, const OffloadRates& offload,
                 const Plan& plan);

}  // namespace stepscope
