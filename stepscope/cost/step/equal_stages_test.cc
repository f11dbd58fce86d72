// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/equal_stages.h"

#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/machine/ideal_test_machine.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {
namespace {

struct Piped {
  Machine machine = *parse_machine(ideal_machine, "test.json");
  Network network = *make_network(machine);
  Transformer model = operations_test::gpt();
  Plan plan;

  Piped(std::int64_t pp, std::int64_t batch) {
    model.layers = 8;
    plan.devices = plan.pp = pp;
    plan.batch.global = batch;
  }
  std::optional<EqualStages> equal() {
    EXPECT_TRUE(check_plan(model, plan));
    auto context = make_cost_context(model, machine, network, plan);
    EXPECT_TRUE(context) << context.error().message();
    EXPECT_TRUE(evaluate(*context, plan));
    return equal_stages(*context, plan);
  }
};

TEST(EqualStages, WaitAsTheTextsSay) {
  Piped p(4, 16);
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    p.plan.pipeline.schedule = schedule;
    const auto equal = p.equal();
    ASSERT_TRUE(equal);
    EXPECT_NEAR(equal->bubble, 3.0 / 19, 1e-12);
    EXPECT_NEAR(equal_bubble_formula(p.plan)->value(), equal->bubble, 1e-12);
  }
  p.plan.pipeline.schedule = Schedule::interleaved;
  p.plan.pipeline.virtual_stages = 2;
  const auto equal = p.equal();
  ASSERT_TRUE(equal);
  EXPECT_NEAR(equal->bubble, 3.0 / 35, 1e-12);
  EXPECT_NEAR(equal_bubble_formula(p.plan)->value(), equal->bubble, 1e-12);
}

TEST(EqualStages, TheDeviceWithTheHeadWaitsLessThanEqualOnes) {
  const auto equal = Piped(4, 16).equal();
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->busiest, 3);
  EXPECT_GT(equal->ratio, 1);
  EXPECT_LT(equal->own, equal->bubble);
}

TEST(EqualStages, OneStageHasNoBubbleAndZeroBubbleNoFormula) {
  EXPECT_FALSE(Piped(1, 16).equal());
  Piped p(4, 16);
  p.plan.pipeline.schedule = Schedule::zero_bubble_h1;
  EXPECT_TRUE(p.equal());
  EXPECT_FALSE(equal_bubble_formula(p.plan));
}

}  // namespace
}  // namespace stepscope
