// SPDX-License-Identifier: Apache-2.0
// Parameters and FLOPs of the operations, compared with counts from the model alone.
#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

using namespace operations_test;

Plan plan_for(const Transformer& m) {
  Plan plan = plan_of(1);
  plan.kernels.vocabulary_multiple = 1;
  if (m.patches) plan.batch.sequence = image_tokens(*m.patches);
  return plan;
}

// The head, and the modules of multi-token prediction: all passes, or one of modules that share
// their parameters.
Operations end_operations(const Transformer& m, const Plan& plan, bool all_passes) {
  Operations ops = head_operations(m, plan);
  if (!m.prediction) return ops;
  const std::int64_t modules = m.prediction->one_module && !all_passes ? 1 : m.prediction->modules;
  for (std::int64_t i = 0; i < modules; ++i) {
    for (const Operations& part :
         {prediction_operations(m, plan), prediction_head_operations(m, plan)}) {
      ops.insert(ops.end(), part.begin(), part.end());
    }
  }
  return ops;
}

TEST(OperationParameters, AreThoseOfEveryPublishedModel) {
  ASSERT_GT(model_catalogue().size(), 10U);
  for (const Transformer& m : model_catalogue()) {
    const Plan plan = plan_for(m);
    const ParameterCount count = parameter_count(m);
    EXPECT_EQ(parameters(embedding_operations(m, plan)), static_cast<double>(count.embedding))
        << m.name;
    double layers = 0;
    for (std::int64_t l = 0; l < m.layers; ++l) {
      const double here = parameters(layer_operations(m, plan, l));
      EXPECT_EQ(here, static_cast<double>(layer_parameters(m, l).total())) << m.name << l;
      layers += here;
    }
    EXPECT_EQ(layers, static_cast<double>(count.layers)) << m.name;
    EXPECT_EQ(parameters(end_operations(m, plan, false)), static_cast<double>(count.head))
        << m.name;
  }
}

TEST(OperationParameters, OfAPoolerToo) {
  Transformer m = *find_model("bert-large");
  m.pooler = true;
  EXPECT_EQ(parameters(head_operations(m, plan_for(m))),
            static_cast<double>(parameter_count(m).head));
}

TEST(OperationFlops, AreTheModelsForwardAndTwiceBackward) {
  for (const Transformer& m : model_catalogue()) {
    const Plan plan = plan_for(m);
    double forward = forward_matrix(embedding_operations(m, plan)) +
                     forward_matrix(end_operations(m, plan, true));
    for (std::int64_t l = 0; l < m.layers; ++l) {
      forward += forward_matrix(layer_operations(m, plan, l));
    }
    const ModelFlops model =
        model_flops(m, plan.batch.sequence, plan.batch.sequence, FlopsConvention::causal_halved);
    EXPECT_NEAR(3 * forward / model.per_step.value, 1, 1e-12) << m.name;
  }
}

}  // namespace
}  // namespace stepscope
