// SPDX-License-Identifier: Apache-2.0
// The parts of explain(). Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/cost/step/offload_time.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope::explain_parts {

// An evaluated plan and what it was evaluated from.
struct Evaluated {
  const CostContext& context;
  const Plan& plan;
  const StepCost& cost;
  const DataEntry& data;
  const OffloadRates& offload;

  [[nodiscard]] double m() const { return static_cast<double>(micro_batches(plan)); }
  // The sum over the chunks of the busiest device.
  template <class Value>
  [[nodiscard]] double over_stages(Value value) const {
    double sum = 0;
    for (auto s = static_cast<std::size_t>(cost.pipeline.busiest); s < context.stages.layers.size();
         s += static_cast<std::size_t>(plan.pp)) {
      sum += value(context.stages[s]);
    }
    return sum;
  }
};

[[nodiscard]] std::string of_step(const Evaluated& e, StepTerm term);
[[nodiscard]] std::string of_memory(const Evaluated& e, MemoryTerm term);

// What the terms are made of.
struct Part {
  std::string_view name;
  std::string (*explain)(const Evaluated& e, std::string_view name);
};
[[nodiscard]] std::vector<Part> step_parts();
[[nodiscard]] std::vector<Part> data_parts();
[[nodiscard]] std::vector<Part> memory_parts();
[[nodiscard]] std::vector<Part> rate_parts();

// Of every operation of that name; of all where it is empty.
[[nodiscard]] std::vector<std::string> of_operations(const Evaluated& e, std::string_view name);
[[nodiscard]] std::vector<std::string_view> operation_names(const Evaluated& e);

}  // namespace stepscope::explain_parts
