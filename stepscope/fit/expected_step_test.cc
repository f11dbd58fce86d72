// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {
namespace {

struct Case {
  std::string model;
  std::string machine;
  Plan plan;
};

Plan plan(std::int64_t tp, std::int64_t cp, std::int64_t pp, std::int64_t dp, std::int64_t batch) {
  Plan p;
  p.devices = tp * cp * pp * dp;
  p.tp = tp;
  p.cp = cp;
  p.pp = pp;
  p.dp = dp;
  p.batch.global = batch;
  return p;
}

std::vector<Case> cases() {
  std::vector<Case> all = {{"gpt3-175b", "a100_sxm_80gb", plan(8, 1, 16, 8, 1536)},
                           {"llama-3-8b", "h100_sxm_80gb", plan(2, 2, 1, 4, 64)},
                           {"llama-3-70b", "h100_sxm_80gb", plan(8, 1, 4, 2, 64)},
                           {"mixtral-8x7b", "h100_sxm_80gb", plan(1, 1, 4, 16, 64)},
                           {"bert-large", "v100_sxm2_32gb", plan(1, 1, 1, 1, 8)},
                           {"gpt2", "mi300x", plan(1, 1, 2, 2, 16)}};
  all[0].plan.memory.recompute = Recompute::selective;
  all[0].plan.tensor.sequence_parallel = true;
  all[1].plan.zero = 3;
  all[1].plan.memory.recompute = Recompute::full;
  all[2].plan.pipeline.schedule = Schedule::interleaved;
  all[2].plan.pipeline.virtual_stages = 4;
  all[2].plan.memory.recompute = Recompute::every_k;
  all[2].plan.memory.recompute_every = 3;
  all[3].plan.ep = 8;
  all[3].plan.zero = 1;
  all[4].plan.batch.sequence = 512;
  all[4].plan.precision.matmul = Dtype::fp16;
  all[4].plan.kernels.fused_attention = false;
  all[5].plan.batch.sequence = 1024;
  all[5].plan.memory.recompute = Recompute::operations;
  return all;
}

double sum(const StepSeconds& s) { return std::accumulate(s.begin(), s.end(), 0.0); }
double of(const StepSeconds& s, StepClass c) { return s[static_cast<std::size_t>(c)]; }

// The same step computed in both ways.
struct Both {
  StepCost cost;
  ExpectedStep expected;
};

Both both(const Case& c) {
  const Transformer model = *find_model(c.model);
  const Machine machine = *machine_named(c.machine);
  const Network network = *make_network(machine);
  const auto can = check_plan(model, c.plan);
  EXPECT_TRUE(can) << (can ? "" : can.error().message());
  auto context = make_cost_context(model, machine, network, c.plan);
  EXPECT_TRUE(context) << c.model << ": " << (context ? "" : context.error().message());
  if (!context) return {};
  return {*evaluate(*context, c.plan), *expected_step(model, machine, network, c.plan)};
}

TEST(ExpectedStep, ItsClassesSumToThePredictedStep) {
  for (const Case& c : cases()) {
    const Both b = both(c);
    const double step = b.cost.step().count();
    EXPECT_NEAR(sum(b.expected.seconds), step, 1e-12 * step) << c.model;
  }
}

TEST(ExpectedStep, CommunicationBubbleAndTailAreThePredictionsTerms) {
  for (const Case& c : cases()) {
    const Both b = both(c);
    for (const auto& [kind, term] : {std::pair{StepClass::tensor_comm, StepTerm::tensor},
                                     std::pair{StepClass::context_comm, StepTerm::context},
                                     std::pair{StepClass::expert_comm, StepTerm::expert},
                                     std::pair{StepClass::pipeline_comm, StepTerm::pipeline},
                                     std::pair{StepClass::data_comm, StepTerm::data},
                                     std::pair{StepClass::bubble, StepTerm::bubble},
                                     std::pair{StepClass::optimizer, StepTerm::optimizer},
                                     std::pair{StepClass::copy, StepTerm::offload},
                                     std::pair{StepClass::host, StepTerm::host}})
      EXPECT_EQ(of(b.expected.seconds, kind), b.cost[term]) << c.model;
    EXPECT_EQ(of(b.expected.seconds, StepClass::wait), 0) << "a model waits for nobody";
  }
}

TEST(ExpectedStep, WhatBackwardRepeatsIsThePredictedRecomputation) {
  for (const Case& c : cases()) {
    const Both b = both(c);
    const double again = b.cost[StepTerm::recompute];
    EXPECT_NEAR(sum(b.expected.recompute), again, 1e-9 * b.cost.step().count()) << c.model;
  }
}

// If no micro-batch sums its gradients, there is nothing besides the operations.
TEST(ExpectedStep, ItsMatmulsAndAttentionAreThePredictionsWithoutRecomputation) {
  Case c{"llama-3-8b", "h100_sxm_80gb", plan(1, 1, 1, 8, 8)};
  c.plan.zero = 2;
  const Both b = both(c);
  const double step = b.cost.step().count();
  EXPECT_NEAR(of(b.expected.seconds, StepClass::matmul), b.cost[StepTerm::matmul], 1e-12 * step);
  EXPECT_NEAR(of(b.expected.seconds, StepClass::attention), b.cost[StepTerm::attention],
              1e-12 * step);
  double pointwise = 0;
  for (std::size_t k = 0; k < step_class_count; ++k)
    if (is_pointwise(static_cast<StepClass>(k))) pointwise += b.expected.seconds[k];
  EXPECT_NEAR(pointwise, b.cost[StepTerm::pointwise], 1e-12 * step);
}

// Kernels of scores and values that are written to memory are those of matrix products.
TEST(ExpectedStep, AttentionThatIsNotFusedIsMatmuls) {
  Case c{"gpt2", "a100_sxm_80gb", plan(1, 1, 1, 1, 8)};
  c.plan.batch.sequence = 1024;
  c.plan.kernels.fused_attention = false;
  const Both b = both(c);
  EXPECT_EQ(of(b.expected.seconds, StepClass::attention), 0);
  EXPECT_GT(of(b.expected.seconds, StepClass::matmul), b.cost[StepTerm::matmul]);
}

TEST(ExpectedStep, SaysWhatTheMachineLacks) {
  const Transformer model = *find_model("gpt2");
  Machine machine = *machine_named("h100_sxm_80gb");
  const Network network = *make_network(machine);
  machine.memory_rate.reset();
  Plan p = plan(1, 1, 1, 1, 1);
  p.batch.sequence = 1024;
  const auto expected = expected_step(model, machine, network, p);
  ASSERT_FALSE(expected);
  EXPECT_NE(expected.error().message().find("memory_gb_per_s"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
