// SPDX-License-Identifier: Apache-2.0
// How far a run may be from its prediction: the interval that holds the measured step in 80 % of
// cases. Its widths are not below quantiles of |ln(measured / predicted)| over published runs, each
// predicted by curves that were fitted without the run's whole source, sources weighing equally.
// They are widened until widths without a source cover 80 % of that source's runs (bench/accuracy
// prints them; docs/dev/benchmarks.md). They hold for a machine whose curves were fitted to
// other people's runs, not to one's own.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

inline constexpr double interval_coverage = 0.8;

// Kinds of runs whose errors differ. mixed: experts, or layers with a state instead of attention.
enum class RunKind : std::uint8_t { dense_one_node, dense_several_nodes, mixed };
inline constexpr std::array<std::string_view, 3> run_kind_names = {
    "dense, one node", "dense, several nodes", "experts or states"};
static_assert(run_kind_names[static_cast<std::size_t>(RunKind::mixed)] == "experts or states");

// A server has 8 devices, as most have.
[[nodiscard]] constexpr RunKind run_kind(const Transformer& model, const Plan& plan) {
  if (model.experts || model.linear || model.state_space) return RunKind::mixed;
  return plan.devices > 8 ? RunKind::dense_several_nodes : RunKind::dense_one_node;
}

inline constexpr std::array<double, run_kind_names.size()> interval_widths = {0.16, 0.19, 0.36};

// Plans of one model on one machine share most of their error. 80 % of the published pairs differed
// from their predicted ratio by less: closer plans are ties.
inline constexpr double comparison_width = 0.10;

struct StepInterval {
  Seconds low{};
  Seconds high{};
};
[[nodiscard]] inline StepInterval step_interval(Seconds step, double width) {
  return {Seconds{step.count() * std::exp(-width)}, Seconds{step.count() * std::exp(width)}};
}

}  // namespace stepscope
