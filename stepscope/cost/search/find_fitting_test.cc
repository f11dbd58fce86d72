// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/search/search.h"

namespace stepscope {
namespace {

using operations_test::gpt;
using operations_test::llama;

Transformer with_experts() {
  Transformer model = llama();
  model.experts = Experts{.count = 4, .top_k = 2, .feed_forward = 2048};
  return model;
}

struct SmallMachine {
  Machine machine;
  Network network;

  explicit SmallMachine(double memory)
      : machine(*find_machine("NVIDIA A100-SXM4-80GB")), network(*make_network(machine)) {
    machine.memory = Bytes{static_cast<std::int64_t>(memory)};
  }
};

// Every device has all states.
SearchRequest replicated(std::int64_t devices) {
  SearchRequest request;
  request.devices = {devices};
  request.memory_headroom = 0;
  request.base.devices = request.base.dp = devices;
  request.base.batch.global = 16;
  request.base.batch.sequence = 2048;
  return request;
}

// A plan that does not fit gets one that does, which keeps its layout and schedule.
TEST(FindFitting, NamesAPlanThatFitsOrACountThatIsEnough) {
  for (const Transformer& model : {gpt(), llama(), with_experts()}) {
    for (const std::int64_t devices : {1, 2, 8, 16}) {
      for (const double memory : {4e8, 1e9, 4e9, 2e10}) {
        const SmallMachine small(memory);
        const SearchRequest request = replicated(devices);
        const auto found = find_fitting(model, small.machine, small.network, request);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_FALSE(found->plan && found->devices);
        if (!found->plan) {
          EXPECT_TRUE(!found->devices || *found->devices > devices);
          continue;
        }
        EXPECT_EQ(found->plan->devices, devices);
        EXPECT_EQ(found->plan->cp, 1);
        EXPECT_EQ(found->plan->pipeline.schedule, request.base.pipeline.schedule);
        auto context = make_cost_context(model, small.machine, small.network, *found->plan);
        ASSERT_TRUE(context);
        const auto cost = evaluate(*context, *found->plan);
        ASSERT_TRUE(cost);
        EXPECT_FALSE(shortage(cost->memory, small.machine).any());
      }
    }
  }
}

// The first that fits differs as little as possible: sharding is enough here.
TEST(FindFitting, KeepsTheShapeWhereOtherStatesAreEnough) {
  const SmallMachine bench(4e10);
  const auto found = find_fitting(llama(), bench.machine, bench.network, replicated(16));
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->plan);
  EXPECT_EQ(found->plan->tp, 1);
  EXPECT_EQ(found->plan->pp, 1);
  EXPECT_EQ(found->plan->dp, 16);
}

}  // namespace
}  // namespace stepscope
