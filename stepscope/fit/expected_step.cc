// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_step.h"

#include <numeric>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {
namespace {

StepClass class_of(const Operation& operation) {
  switch (operation.kind) {
    case OperationClass::matmul:
      return StepClass::matmul;
    case OperationClass::attention:
      return operation.forward.matmuls.size() > 1 ? StepClass::attention : StepClass::matmul;
    case OperationClass::scan:
      return StepClass::attention;
    case OperationClass::norm:
      return StepClass::norm;
    case OperationClass::embedding:
      return StepClass::embedding;
    case OperationClass::loss:
      return StepClass::loss;
    case OperationClass::softmax:
    case OperationClass::pointwise:
      break;
  }
  return StepClass::elementwise;
}

double& at(StepSeconds& s, StepClass c) { return s[static_cast<std::size_t>(c)]; }

// Arithmetic of the busiest device over all its micro-batches.
class Arithmetic {
 public:
  Arithmetic(const CostContext& context, const Plan& plan, ExpectedStep& result)
      : context_(context),
        plan_(plan),
        times_(static_cast<double>(micro_batches(plan))),
        result_(result) {}

  void add(const std::vector<Operation>& operations, Recompute how, bool full_precision) {
    for (const Operation& o : operations) {
      const double forward =
          operation_time(context_.compute, o, Direction::forward, full_precision).count();
      const double backward =
          operation_time(context_.compute, o, Direction::backward, full_precision).count();
      const double again = share_again(o, how) * forward;
      at(result_.seconds, class_of(o)) += times_ * (forward + backward + again);
      at(result_.recompute, class_of(o)) += times_ * again;
    }
  }

  void add_stage(std::size_t stage) {
    const Transformer& model = *context_.model;
    const auto& layers = context_.stages.layers;
    const std::int64_t begin = std::accumulate(
        layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(stage), std::int64_t{0});
    if (stage == 0) add(embedding_operations(model, plan_), Recompute::none, false);
    for (std::int64_t i = 0; i < layers[stage]; ++i)
      add(layer_operations(model, plan_, begin + i), recompute_at(plan_, i), false);
    if (stage + 1 != layers.size()) return;
    add(head_operations(model, plan_), Recompute::none, !plan_.kernels.narrow_head);
    const std::int64_t modules = model.prediction ? model.prediction->modules : 0;
    for (std::int64_t module = 0; module < modules; ++module) {
      add(prediction_operations(model, plan_), Recompute::none, false);
      add(prediction_head_operations(model, plan_), Recompute::none, !plan_.kernels.narrow_head);
    }
  }

 private:
  const CostContext& context_;
  const Plan& plan_;
  double times_;
  ExpectedStep& result_;
};

// The part of the terms beyond the operations: the sum of the gradients of micro-batches.
void add_gradient_sums(const StepCost& cost, ExpectedStep& result) {
  const double terms = cost[StepTerm::matmul] + cost[StepTerm::attention] +
                       cost[StepTerm::pointwise] + cost[StepTerm::recompute];
  const double sums = terms - std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0);
  check(sums > -1e-9 * terms, "the operations of a device are among its step's terms");
  at(result.seconds, StepClass::elementwise) += sums;
}

}  // namespace

Result<ExpectedStep> expected_step(const Transformer& model, const Machine& machine,
                                   const Network& network, const Plan& plan) {
  Result<CostContext> context = make_cost_context(model, machine, network, plan);
  if (!context) return context.error();
  const Result<StepCost> cost = evaluate(*context, plan);
  if (!cost) return cost.error();
  ExpectedStep result;
  Arithmetic arithmetic(*context, plan, result);
  for (auto s = static_cast<std::size_t>(cost->pipeline.busiest);
       s < context->stages.cost_of.size(); s += static_cast<std::size_t>(plan.pp))
    arithmetic.add_stage(s);
  add_gradient_sums(*cost, result);
  at(result.seconds, StepClass::optimizer) = (*cost)[StepTerm::optimizer];
  at(result.seconds, StepClass::tensor_comm) = (*cost)[StepTerm::tensor];
  at(result.seconds, StepClass::context_comm) = (*cost)[StepTerm::context];
  at(result.seconds, StepClass::expert_comm) = (*cost)[StepTerm::expert];
  at(result.seconds, StepClass::pipeline_comm) = (*cost)[StepTerm::pipeline];
  at(result.seconds, StepClass::data_comm) = (*cost)[StepTerm::data];
  at(result.seconds, StepClass::bubble) = (*cost)[StepTerm::bubble];
  at(result.seconds, StepClass::copy) = (*cost)[StepTerm::offload];
  at(result.seconds, StepClass::host) = (*cost)[StepTerm::host];
  for (const TakenValue& value : context->compute.assumptions)
    result.assumptions.push_back(value.text());
  result.assumptions.insert(result.assumptions.end(), network.assumptions.begin(),
                            network.assumptions.end());
  return result;
}

}  // namespace stepscope
