// SPDX-License-Identifier: Apache-2.0
// The formulas behind throughput and utilisation.
#include <string>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/explain/operation_rows.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope::explain_parts {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the operators of an expression
using namespace formula;

double flops_of(const Evaluated& e, FlopsConvention convention) {
  return static_cast<double>(e.plan.global_batch) *
         e.context.sequence_flops[static_cast<std::size_t>(convention)];
}

double mfu_of(const Evaluated& e, FlopsConvention convention) {
  return e.cost.mfu[static_cast<std::size_t>(convention)];
}

Formula step_times_peak(const Evaluated& e) {
  return seconds(e.cost.step().count()) * count(e.plan.devices) *
         flop_rate(e.context.compute.matmul.peak);
}

std::string of_tokens(const Evaluated& e, std::string_view name) {
  return explained(
      name, "sequences * tokens of each / step",
      count(e.plan.global_batch) * count(e.plan.sequence) / seconds(e.cost.step().count()),
      per_second(e.cost.tokens_per_second));
}

std::string of_model_flops(const Evaluated& e, std::string_view name) {
  const Transformer& m = *e.context.model;
  double pairs = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    pairs += attention_pairs(m, layer, e.plan.sequence);
  }
  return explained(
      name, "sequences * (6 * weights times tokens + 6 H (d + d_v) * query-key pairs)",
      count(e.plan.global_batch) * (flops(6) * count(sequence_weights(m, e.plan.sequence)) +
                                    flops(pair_flops(m)) * count(pairs)),
      flops(flops_of(e, FlopsConvention::causal_halved)), "causal attention halved");
}

std::string of_mfu(const Evaluated& e, std::string_view name) {
  return explained(name, "model FLOPs / (step * devices * peak)",
                   flops(flops_of(e, FlopsConvention::causal_halved)) / step_times_peak(e),
                   percent(mfu_of(e, FlopsConvention::causal_halved)), "causal attention halved");
}

std::string of_hfu(const Evaluated& e, std::string_view name) {
  const double model = flops_of(e, FlopsConvention::causal_halved);
  const double again = recomputed_flops(e.context, e.plan).value;
  const double hfu = mfu_of(e, FlopsConvention::causal_halved) * (1 + again / model);
  return explained(name, "(model FLOPs + recomputed) / (step * devices * peak)",
                   (flops(model) + flops(again)) / step_times_peak(e), percent(hfu));
}

// 6 N a token, all parameters that a token uses.
std::string of_mfu_6n(const Evaluated& e, std::string_view name) {
  const double tokens =
      static_cast<double>(e.plan.global_batch) * static_cast<double>(e.plan.sequence);
  const Formula all = flops(6) * count(parameter_count(*e.context.model).active) * count(tokens);
  return explained(name, "6 N tokens / (step * devices * peak)", all / step_times_peak(e),
                   percent(mfu_of(e, FlopsConvention::six_n)));
}

Formula square_attention(const Evaluated& e) {
  const Transformer& m = *e.context.model;
  return flops(pair_flops(m)) * count(m.layers) * count(e.plan.sequence);
}

// Every pair of the square: the mask is not looked at.
std::string of_mfu_palm(const Evaluated& e, std::string_view name) {
  const double tokens =
      static_cast<double>(e.plan.global_batch) * static_cast<double>(e.plan.sequence);
  const Formula all =
      (flops(6) * count(parameter_count(*e.context.model).active) + square_attention(e)) *
      count(tokens);
  return explained(name, "(6 N + 6 L H (d + d_v) s) tokens / (step * devices * peak)",
                   all / step_times_peak(e), percent(mfu_of(e, FlopsConvention::palm)));
}

std::string of_mfu_torchtitan(const Evaluated& e, std::string_view name) {
  const double tokens =
      static_cast<double>(e.plan.global_batch) * static_cast<double>(e.plan.sequence);
  const ParameterCount n = parameter_count(*e.context.model);
  const Formula all =
      (flops(6) * (count(n.active) - count(n.tokens)) + square_attention(e)) * count(tokens);
  return explained(name,
                   "(6 (N - token table) + 6 L H (d + d_v) s) tokens / (step * devices * peak)",
                   all / step_times_peak(e), percent(mfu_of(e, FlopsConvention::torchtitan)));
}

}  // namespace

std::vector<Part> rate_parts() {
  return {{"tokens_per_second", of_tokens},
          {"model_flops", of_model_flops},
          {"mfu", of_mfu},
          {"hfu", of_hfu},
          {"mfu_6n", of_mfu_6n},
          {"mfu_palm", of_mfu_palm},
          {"mfu_torchtitan", of_mfu_torchtitan}};
}

}  // namespace stepscope::explain_parts
