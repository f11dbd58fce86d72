// SPDX-License-Identifier: Apache-2.0
// Everything about a model on a machine that does not depend on schedule, data parallelism, ZeRO,
// recomputation and batch: the layers' costs for one shape of a layer. A search makes one context
// per shape and evaluates many plans in it (step_cost.h).
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
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/step/data_parallel.h"
#include "stepscope/cost/step/pipeline.h"
#include "stepscope/cost/time/compute_time.h"
#include "stepscope/cost/time/layer_cost.h"

namespace stepscope {

// At most as many kinds as pairs of a mixer and a feed-forward part.
inline constexpr std::size_t most_layer_kinds = 16;

// Seconds of a unit (a layer, the embedding, the head) that ZeRO-3 gathers and reduces as a whole.
struct UnitTime {
  double gather = 0;    // before forward
  double regather = 0;  // before backward
  double reduce = 0;
  double gather_copying = 0;  // part of these, as PieceTime::copying
  double regather_copying = 0;
  double reduce_copying = 0;
};

// The cost of one (virtual) pipeline stage on its device for one micro-batch: its layers, including
// the embedding before the first and the head after the last.
struct StageCost {
  PassTime forward;
  PassTime backward;  // without `again`; includes the sum of gradients
  PassTime again;
  double weight_gradient = 0;
  double hidden_forward = 0;  // as of LayerCost
  double hidden_backward = 0;
  // ZeRO-3's gathers and reductions, and parameters fetched from the host, as far as compute does
  // not hide them.
  double data_forward = 0;
  double data_backward = 0;
  double fetch_forward = 0;
  double fetch_backward = 0;
  // Time to schedule the passes and start their sends. With several chunks, includes the part of
  // sends that the passes do not hide. Without a pipeline 0.
  double pass_forward = 0;
  double pass_backward = 0;
  double parameters = 0;
  double expert_parameters = 0;
  double trained = 0;  // the parts of these with gradients
  double trained_experts = 0;
  double unit_parameters = 0;  // of the largest unit
  double unit_expert_parameters = 0;
  double unit_trained = 0;      // of the unit with most gradients, with experts
  double layer_parameters = 0;  // of the largest layer, with experts
  double end_parameters = 0;    // of embedding and head
  double kept_bytes = 0;
  double workspace_bytes = 0;
  double logits_bytes = 0;
  UnitTime first;  // of the unit that starts the stage
  UnitTime last;   // the unit whose gradients are ready last

  [[nodiscard]] StageTime time() const {
    return {.forward = Seconds{forward.total() + data_forward + fetch_forward + pass_forward},
            .backward = Seconds{backward.total() + again.total() + data_backward + fetch_backward +
                                pass_backward},
            .weight = Seconds{weight_gradient},
            .alone_forward = Seconds{hidden_forward},
            .alone_backward = Seconds{hidden_backward}};
  }
};

// The inputs of stages and their pipeline in addition to a context's shape and the layers of each
// stage. Plans that differ only elsewhere (ZeRO 0 and 1, time of reduction, place of the optimizer)
// share them.
struct StageKey {
  std::array<std::int64_t, 12> numbers{};
  std::array<std::uint8_t, 9> choices{};

  bool operator==(const StageKey&) const = default;
};

// Virtual stages in model order. Stages of equal cost share a StageCost.
struct Stages {
  std::vector<StageCost> costs;
  std::vector<std::uint32_t> cost_of;
  std::vector<StageTime> times;
  std::vector<std::int64_t> layers;  // per stage
  double boundary_bytes = 0;         // from stage to stage, for one micro-batch
  // By pipeline device: true if all its stages cost the same as those of the previous device.
  std::vector<std::uint8_t> as_before;
  std::optional<StageKey> made_for;

  [[nodiscard]] const StageCost& operator[](std::size_t stage) const {
    return costs[cost_of[stage]];
  }
};

// Calls visit(stage, share of the micro-batches) for the stages of a pipeline device.
template <class Visit>
void each_stage_of(const Plan& plan, std::size_t device, const Stages& stages, Visit visit) {
  each_stage_of(plan.pipeline.schedule, static_cast<std::size_t>(plan.pp), device,
                stages.cost_of.size(), visit);
}

// Times that depend on dp, the shard group and ZeRO besides the shape; cached between plans.
struct DataEntry {
  std::int64_t dp = 0;
  std::int64_t pp = 0;
  std::int64_t shard_group = 0;
  std::int64_t secondary_group = 0;
  std::int64_t passes = 1;  // micro-batches of a step; only shard groups need it
  std::int64_t bucket = 0;
  bool sharded = false;
  bool singly = false;  // gathers_singly
  DataTimes times;
  std::vector<UnitTime> kinds;  // as CostContext::kinds
  UnitTime embedding;
  UnitTime head;
  double send = 0;          // of one micro-batch to the next stage
  double send_copying = 0;  // part of it, as PieceTime::copying
  double tie = 0;           // of the tied embedding's gradients
};

struct CostContext {
  const Transformer* model = nullptr;  // these three must outlive the context
  const Machine* machine = nullptr;
  const Network* network = nullptr;
  ComputeModel compute;
  Placements placements;
  Plan shape;                      // the plan behind the layers' counts
  std::vector<LayerCost> kinds;    // layers of equal cost are of one kind
  std::vector<std::uint8_t> kind;  // per layer
  LayerCost embedding;
  std::array<LayerCost, 2> head;  // [1]: if the pipeline's ends are two devices, and tied weights
                                  // two copies
  double tied_parameters = 0;     // of the token table, if it is trained at both ends
  double input_bytes = 0;         // of the tensor between layers
  double gather_input = 0;        // seconds to complete it over tp after a send in parts
  std::array<double, flops_convention_count> sequence_flops{};  // forward and backward, of one
  std::vector<DataEntry> data;                                  // grows with new plans
  Stages stages;                                                // of the plan evaluated last
  PipelineTime pipeline;                                        // of these stages
};

// True if a plan's layers cost the same as this context's.
[[nodiscard]] bool same_shape(const Plan& a, const Plan& b);

// REQUIRES: check_plan(model, plan). Errors name what the machine lacks.
[[nodiscard]] Result<CostContext> make_cost_context(const Transformer& model,
                                                    const Machine& machine, const Network& network,
                                                    const Plan& plan);

// The entry for this plan; makes it if it is new. Not thread-safe.
[[nodiscard]] Result<const DataEntry*> data_entry(CostContext& context, const Plan& plan);

// The send of one micro-batch to the next stage: DataEntry::send.
[[nodiscard]] Formula send_formula(const CostContext& context, const DataEntry& data,
                                   const Plan& plan);

}  // namespace stepscope
