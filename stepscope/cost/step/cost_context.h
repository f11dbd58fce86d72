// SPDX-License-Identifier: Apache-2.0
// Everything about a model on a machine that stays the same while schedule, data parallelism, ZeRO,
// recomputation and batch vary: the layers' costs for one shape of a layer. A search makes one
// context a shape and evaluates many plans in it (step_cost.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/cost/step/data_parallel.h"
#include "stepscope/cost/step/pipeline.h"
#include "stepscope/cost/time/compute_time.h"
#include "stepscope/cost/time/layer_cost.h"

namespace stepscope {

// Seconds of a unit (a layer, the embedding, the head) that ZeRO-3 gathers and reduces as one.
struct UnitTime {
  double gather = 0;
  double reduce = 0;
  double gather_copying = 0;  // of these, as PieceTime::copying
  double reduce_copying = 0;
};

// What one (virtual) stage of a pipeline costs its device for one micro-batch: its layers, with the
// embedding before the first and the head after the last.
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

// What depends on dp, the shard group and ZeRO besides the shape; remembered from plan to plan.
struct DataEntry {
  std::int64_t dp = 0;
  std::int64_t pp = 0;
  std::int64_t shard_group = 0;
  std::int64_t bucket = 0;
  bool sharded = false;
  DataTimes times;
  std::vector<UnitTime> kinds;  // as CostContext::kinds
  UnitTime embedding;
  UnitTime head;
  double send = 0;          // of one micro-batch to the next stage
  double send_copying = 0;  // of it, as PieceTime::copying
  double tie = 0;           // of the tied embedding's gradients
};

struct CostContext {
  const Transformer* model = nullptr;  // these three outlive the context
  const Machine* machine = nullptr;
  const Network* network = nullptr;
  ComputeModel compute;
  Placements placements;
  Plan shape;                      // the plan that the layers were counted for
  std::vector<LayerCost> kinds;    // layers that cost the same are of one kind
  std::vector<std::uint8_t> kind;  // of each layer
  LayerCost embedding;
  std::array<LayerCost, 2> head;  // [1]: where the pipeline's ends are two devices, and tied
                                  // weights two copies
  double input_bytes = 0;         // of what a layer hands on
  double gather_input = 0;        // seconds to complete it over tp after a send in parts
  std::array<double, flops_convention_count> sequence_flops{};  // forward and backward, of one
  std::vector<DataEntry> data;                                  // grows as plans ask
  Stages stages;                                                // of the plan evaluated last
  PipelineTime pipeline;                                        // of these stages
};

// Whether a plan's layers cost what this context's do.
[[nodiscard]] bool same_shape(const Plan& a, const Plan& b);

// REQUIRES: check_plan(model, plan). Errors: what the machine lacks.
[[nodiscard]] Result<CostContext> make_cost_context(const Transformer& model,
                                                    const Machine& machine, const Network& network,
                                                    const Plan& plan);

// The entry for this plan, made where it is new: not for several threads at once.
[[nodiscard]] Result<const DataEntry*> data_entry(CostContext& context, const Plan& plan);

// Of one micro-batch to the next stage: DataEntry::send.
[[nodiscard]] Formula send_formula(const CostContext& context, const DataEntry& data,
                                   const Plan& plan);

}  // namespace stepscope
