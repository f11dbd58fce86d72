// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/memory_footprint.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope {
namespace {

// AdamW in mixed precision, gradients summed in 16 bits; data parallel over 16 ranks.
Plan plan_of(int zero) {
  Plan plan;
  plan.devices = 64;
  plan.tp = 4;
  plan.dp = 16;
  plan.batch.global = 16;
  plan.zero = zero;
  plan.precision.accumulated_gradient_bytes = 2;
  plan.overlap.bucket = Bytes{1};
  return plan;
}

double states(const Memory& memory) {
  return memory[MemoryTerm::parameters] + memory[MemoryTerm::gradients] +
         memory[MemoryTerm::master] + memory[MemoryTerm::optimizer];
}

StageLoad load_of(double parameters) {
  return {.parameters = parameters,
          .trained = parameters,
          .unit_trained = parameters / 100,
          .unit_parameters = parameters / 100};
}

TEST(Memory, StatesAreThoseOfTheZeroPaper) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 100; ++i) {
    const double psi = std::uniform_real_distribution<double>(1e6, 1e11)(engine);
    const auto n = std::uniform_int_distribution<std::int64_t>(2, 512)(engine);
    const auto per = psi / static_cast<double>(n);
    const auto of = [&](int zero) {
      Plan plan = plan_of(zero);
      plan.dp = n;
      return states(memory_of(plan, load_of(psi)));
    };
    EXPECT_NEAR(of(0) / (16 * psi), 1, 1e-12);
    EXPECT_NEAR(of(1) / (4 * psi + 12 * per), 1, 1e-12);
    EXPECT_NEAR(of(2) / (2 * psi + 14 * per), 1, 1e-12);
    EXPECT_NEAR(of(3) / (16 * per), 1, 1e-12);
  }
}

TEST(Memory, SummingGradientsInFp32TakesTwoBytesMore) {
  Plan plan = plan_of(0);
  const double narrow = states(memory_of(plan, load_of(1e9)));
  plan.precision.accumulated_gradient_bytes = 4;
  const Memory wide = memory_of(plan, load_of(1e9));
  EXPECT_DOUBLE_EQ(states(wide) - narrow, 2e9);
  EXPECT_DOUBLE_EQ(wide[MemoryTerm::buckets], 2 * 1e7);  // the unit of backward's latest gradients
}

TEST(Memory, TensorParallelismIsCountedOnceNotAgainByZero) {
  // The load is already the tensor share: 1 / 4 of the weights. ZeRO divides only by dp.
  Plan plan = plan_of(3);
  EXPECT_DOUBLE_EQ(states(memory_of(plan, load_of(4e9))), 16 * 4e9 / 16);
  plan.tp = 1;
  EXPECT_DOUBLE_EQ(states(memory_of(plan, load_of(4e9))), 16 * 4e9 / 16);
}

TEST(Memory, ContextRanksShareStatesToo) {
  Plan plan = plan_of(1);
  plan.cp = 2;
  EXPECT_EQ(shard_counts(plan).dense, 32);
  EXPECT_DOUBLE_EQ(states(memory_of(plan, load_of(32e6))), 4 * 32e6 + 12 * 1e6);
}

TEST(Memory, ExpertsAreSplitOverTheirOwnReplicasOnly) {
  Plan plan = plan_of(1);
  plan.ep = 8;
  const StageLoad load{
      .parameters = 16e6, .expert_parameters = 16e6, .trained = 16e6, .trained_experts = 16e6};
  EXPECT_DOUBLE_EQ(states(memory_of(plan, load)), 4 * 32e6 + 12 * (16e6 / 16 + 16e6 / 2));
}

TEST(Memory, AShardGroupSplitsLess) {
  Plan plan = plan_of(3);
  plan.shard_group = 4;
  EXPECT_DOUBLE_EQ(states(memory_of(plan, load_of(4e9))), 16 * 1e9);
  plan.ep = 8;
  EXPECT_EQ(shard_counts(plan).expert, 1);
}

TEST(Memory, GathersAsManyUnitsAsArePrefetched) {
  Plan plan = plan_of(3);
  const auto gathered = [&plan](std::int64_t ahead) {
    plan.overlap.prefetch = ahead;
    return memory_of(plan, load_of(1e9))[MemoryTerm::gathered];
  };
  EXPECT_DOUBLE_EQ(gathered(0), 2 * 1e7);
  EXPECT_DOUBLE_EQ(gathered(2), 3 * 2 * 1e7);
  EXPECT_DOUBLE_EQ(gathered(1000), 2 * 1e9) << "never more than there is";
  plan.zero = 2;
  EXPECT_EQ(gathered(1), 0);
  plan.zero = 3;
  plan.dp = 1;
  EXPECT_EQ(gathered(1), 0) << "alone there is nothing to gather";
}

// Frozen weights have neither gradients nor states, and their shards stay narrow.
TEST(Memory, FrozenWeightsHaveNoStates) {
  StageLoad load = load_of(1e9);
  load.trained = 1e7;
  load.unit_trained = 1e5;
  for (const int zero : {0, 1, 3}) {
    const Plan plan = plan_of(zero);
    const double all = static_cast<double>(plan.dp);
    const double parameters = 2e9 / (zero == 3 ? all : 1);
    const double gradients = 2e7 / (zero == 3 ? all : 1);
    const double owned = 12e7 / (zero > 0 ? all : 1);
    EXPECT_DOUBLE_EQ(states(memory_of(plan, load)), parameters + gradients + owned) << zero;
  }
  Plan torch = plan_of(3);
  torch.memory.torch_buffers = true;
  const auto shards = static_cast<double>(torch.dp);
  EXPECT_DOUBLE_EQ(memory_of(torch, load)[MemoryTerm::parameters], 2 * 0.99e9 / shards);
}

// PyTorch: torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, _fsdp_param.py.
TEST(Memory, FullyShardGathersFromTheMasterThroughBuffers) {
  Plan plan = plan_of(3);
  plan.memory.torch_buffers = true;
  const StageLoad load{
      .parameters = 16e6, .trained = 16e6, .layer_parameters = 1e6, .end_parameters = 3e6};
  const Memory memory = memory_of(plan, load);
  EXPECT_EQ(memory[MemoryTerm::parameters], 0) << "fp32 shards are cast unit by unit";
  EXPECT_DOUBLE_EQ(states(memory), (2 + 4 + 8) * 1e6);
  // Both ends and one layer are whole. The buffer of the ends is larger than two layers.
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::gathered], 2 * (4e6 + 3e6));
  plan.overlap.prefetch = 3;
  EXPECT_DOUBLE_EQ(memory_of(plan, load)[MemoryTerm::gathered], 2 * (4e6 + 4e6));
  plan.precision.master_bytes = 0;
  EXPECT_DOUBLE_EQ(memory_of(plan, load)[MemoryTerm::parameters], 2e6) << "no master to cast from";
}

TEST(Memory, FullyShardInAPipelineReducesIntoMemoryOfItsOwn) {
  Plan plan = plan_of(1);
  plan.memory.torch_buffers = true;
  plan.precision.accumulated_gradient_bytes = 4;
  const StageLoad load{.parameters = 16e6,
                       .trained = 16e6,
                       .unit_trained = 1e6,
                       .unit_parameters = 1e6,
                       .layer_parameters = 1e6};
  const Memory memory = memory_of(plan, load);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::parameters], 2 * 16e6);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::gradients], 4 * 16e6 + 4 * 1e6);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::buckets], 2 * 1e6) << "made in 16 bits, summed in 32";
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::gathered], 2 * 2e6);
  plan.dp = 1;
  EXPECT_EQ(memory_of(plan, load)[MemoryTerm::gathered], 0) << "alone nothing is sharded";
}

TEST(Memory, OffloadMovesWhatItMoves) {
  Plan plan = plan_of(1);
  plan.memory.optimizer_at = Residence::nvme;
  plan.memory.gradients_at = Residence::host;
  const Memory memory = memory_of(plan, load_of(16e6));
  EXPECT_EQ(memory[MemoryTerm::master], 0);
  EXPECT_EQ(memory[MemoryTerm::optimizer], 0);
  EXPECT_EQ(memory[MemoryTerm::gradients], 0);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::parameters], 2 * 16e6);
  EXPECT_DOUBLE_EQ(memory.host_bytes, 2 * 16e6);
  EXPECT_DOUBLE_EQ(memory.nvme_bytes, 12 * 1e6);
  EXPECT_GT(memory[MemoryTerm::buckets], 0) << "gradients pass through the device";
}

TEST(Memory, ParametersOnTheHostAreFetchedUnitByUnit) {
  Plan plan = plan_of(3);
  plan.memory.parameters_at = Residence::host;
  plan.overlap.prefetch = 1;
  const Memory memory = memory_of(plan, load_of(1e9));
  EXPECT_EQ(memory[MemoryTerm::parameters], 0);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::gathered], 2 * 2 * 1e7);
  EXPECT_DOUBLE_EQ(memory.host_bytes, 2 * 1e9 / 16);
}

TEST(Memory, ActivationsCountForEveryMicroBatchInFlight) {
  StageLoad load{.activation_bytes = 3e9, .workspace_bytes = 1e9, .logits_bytes = 2e9};
  load.in_flight = 2.5;
  const Memory memory = memory_of(plan_of(0), load);
  EXPECT_DOUBLE_EQ(memory[MemoryTerm::activations], 7.5e9);
  EXPECT_DOUBLE_EQ(memory.total(), 10.5e9);
}

TEST(Memory, ShortageIsWhatTheMachineLacksWhereItSaysHowMuchItHas) {
  Machine machine;
  Plan plan = plan_of(0);
  plan.memory.optimizer_at = Residence::host;
  plan.memory.gradients_at = Residence::nvme;
  const Memory memory = memory_of(plan, load_of(1e9));
  EXPECT_FALSE(shortage(memory, machine).any());
  machine.memory = Bytes{static_cast<std::int64_t>(memory.total())};
  machine.host = Host{};
  machine.nvme = Nvme{};
  EXPECT_FALSE(shortage(memory, machine).any());
  machine.memory->value -= 3'000'000'000;
  machine.host->memory = Bytes{static_cast<std::int64_t>(memory.host_bytes) - 2'000'000'000};
  machine.nvme->capacity = Bytes{static_cast<std::int64_t>(memory.nvme_bytes) - 1'000'000'000};
  const Shortage lacks = shortage(memory, machine);
  EXPECT_TRUE(lacks.any());
  EXPECT_DOUBLE_EQ(lacks.device, 3e9);
  EXPECT_DOUBLE_EQ(lacks.host, 2e9);
  EXPECT_DOUBLE_EQ(lacks.nvme, 1e9);
}

}  // namespace
}  // namespace stepscope
