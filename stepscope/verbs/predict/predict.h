// SPDX-License-Identifier: Apache-2.0
// What a model should reach on a machine by a plan: the time of a step term by term, memory, MFU,
// and other plans for comparison.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/explain/operation_rows.h"
#include "stepscope/cost/layer/layer_conventions.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/step/equal_stages.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/plan_settings.h"

namespace stepscope {

// Values that a field of plan_fields() takes in turn: {"zero", {"0", "1", "2", "3"}}.
struct PlanAxis {
  std::string name;
  std::vector<std::string> values;
};

struct PredictRequest {
  std::string model{};    // of the catalogue, or a file: our JSON or a Hugging Face config.json
  std::string machine{};  // of the catalogue, or a machine file
  PlanSettings plan{};
  // Plans for comparison: every combination, the last axis fastest, at most 256. The first
  // combination is the plan that the other figures are of.
  std::vector<PlanAxis> compare{};
  // Terms, parts of a formula or operations whose formulas are wanted; "all" is every one.
  std::vector<std::string> explain{};
  std::optional<double> price_per_gpu_hour{};  // in any currency; absent: no costs
  // The conventions (layer_conventions()) by which the tables of a layer are counted in addition to
  // the prediction.
  std::string conventions = "stepscope";
};

struct ComparedPlan {
  std::string label;                  // "zero=1 recompute=full"
  std::vector<std::string> values{};  // of each axis: "1", "full"
  Plan plan;
  std::optional<StepCost> cost;  // absent: it cannot run
  std::string why_not{};
  double communicated_bytes = 0;  // by one device in a step, within layers: whole buffers
  double data_bytes = 0;          // sent by one device in a step to data-parallel ranks
};

// What the search found where the plan does not fit.
struct FittingPlan {
  std::optional<Plan> plan{};                      // on the same devices
  std::optional<std::int64_t> smallest_devices{};  // else a number of devices that is enough
  std::optional<Error> why_not{};                  // the search failed
};

struct PredictResult {
  Transformer model{};
  Machine machine{};
  Plan plan{};
  ParameterCount parameters{};
  std::int64_t trained_parameters = 0;  // all, adapters, or those of parts that are not frozen
  StepCost cost{};
  std::optional<EqualStages> equal_stages{};  // absent: one stage
  std::string equal_bubble{};                 // its formula; empty: none by the numbers alone
  std::array<double, flops_convention_count> step_flops{};
  double hfu = 0;
  double peak = 0;         // of one device, in the plan's format
  double memory_rate = 0;  // bytes a second
  std::vector<OperationRow> operations{};
  // The tables by the requested conventions; none by stepscope's own, which `operations` has.
  const LayerConventions* conventions = nullptr;  // never null in a result of predict(); static
  std::vector<LayerTable> layer_tables{};
  std::array<std::string, step_term_count> formulas{};
  std::array<std::string, memory_term_count> memory_formulas{};
  std::string explained{};          // the formulas of request.explain, one a line
  std::vector<std::string> axes{};  // that `comparison` varies: "zero", "recompute"
  std::vector<ComparedPlan> comparison{};
  std::optional<double> price_per_gpu_hour{};
  std::optional<FittingPlan> fitting{};  // absent: this plan fits
  Messages warnings{};                   // what files and the machine do not say
};

// Errors: what is missing or cannot be in the request.
[[nodiscard]] Result<PredictResult> predict(const PredictRequest& request,
                                            const Progress& progress = {});

}  // namespace stepscope
