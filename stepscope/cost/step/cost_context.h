// SPDX-License-Identifier: Apache-2.0
// Everything about a model on a machine that stays the same while schedule, data parallelism, ZeRO,
// recomputation and batch vary: the layers' costs for one shape of a layer. A search makes one
// context a shape and evaluates many plans in it (step_cost.h).
#pragma once

#include <array>
#include <cstdint>
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
#include "stepscope/cost/step/stage_cost.h"
#include "stepscope/cost/time/compute_time.h"
#include "stepscope/cost/time/layer_cost.h"

namespace stepscope {

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

}  // namespace stepscope
