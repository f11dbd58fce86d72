// SPDX-License-Identifier: Apache-2.0
// Tests columns that are not in the notebook. notebook_test.cc checks all others.
#include "stepscope/cost/layer/layer_table.h"

#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"

namespace stepscope {
namespace {

using namespace operations_test;

constexpr IdealRates rates{
    .matrix = {1e12}, .vector = {1e11}, .memory = {1e12}, .link = same_link({1e11})};

LayerRow row_of(const Plan& plan, std::string_view name, const IdealRates& with = rates) {
  for (const LayerRow& r : layer_table(layer_operations(llama(), plan, 0), plan, with)) {
    if (r.name == name) return r;
  }
  return {};
}

TEST(LayerTable, TakesTheLongerOfComputingAndMoving) {
  const LayerRow fc2 = row_of(plan_of(1), "fc2");
  const double flops = 2.0 * 2048 * 4096 * 14336;
  EXPECT_DOUBLE_EQ(fc2.forward.compute.count(), flops / 1e12);
  EXPECT_EQ(fc2.forward.roofline(), fc2.forward.compute);
  EXPECT_GT(fc2.forward.intensity(), 1);
  const LayerRow norm = row_of(plan_of(1), "attention_norm");
  EXPECT_DOUBLE_EQ(norm.forward.compute.count(), 4 * 2048.0 * 4096 / 1e11);
  EXPECT_EQ(norm.forward.group, 0);
  EXPECT_TRUE(norm.forward.sent_by.empty());
}

TEST(LayerTable, ARingPassesAnAllReduceTwiceButItsOwnPart) {
  const LayerRow ring = row_of(plan_of(4), "fc2");
  const double whole = 2 * 2048.0 * 4096;
  EXPECT_EQ(ring.forward.group, 4);
  EXPECT_EQ(ring.forward.sent_by, std::vector{CollectiveKind::all_reduce});
  EXPECT_DOUBLE_EQ(ring.forward.sent_bytes, 2 * whole * 3 / 4);
  EXPECT_DOUBLE_EQ(ring.forward.communication.count(), 2 * whole * 3 / 4 / 1e11);
  EXPECT_EQ(ring.forward.total(), ring.forward.roofline() + ring.forward.communication);
  IdealRates rough = rates;
  rough.volume = LinkVolume::whole;
  const LayerRow estimate = row_of(plan_of(4), "fc2", rough);
  EXPECT_DOUBLE_EQ(estimate.forward.sent_bytes, 2 * whole);
  EXPECT_DOUBLE_EQ(estimate.forward.communication.count(), 2 * whole / 1e11);
  // Sequence parallelism cuts the all-reduce in two and keeps the volume.
  double halves = 0;
  for (const LayerRow& row :
       layer_table(layer_operations(llama(), plan_of(4, true), 0), plan_of(4, true), rough))
    halves += row.forward.sent_bytes;
  EXPECT_DOUBLE_EQ(halves, 2 * 2 * whole);
}

TEST(LayerTable, FrozenWeightsHaveNoGradients) {
  Plan plan = plan_of(1);
  plan.trained.lora_rank = 8;
  const LayerRow frozen = row_of(plan, "fc1");
  EXPECT_EQ(frozen.weight_bytes, 2 * 4096.0 * 2 * 14336);
  EXPECT_EQ(frozen.weight_gradient_bytes, 0);
  EXPECT_EQ(row_of(plan, "feed_forward_norm").weight_gradient_bytes, 0);
  const LayerRow adapter = row_of(plan, "fc1_lora");
  EXPECT_EQ(adapter.weight_gradient_bytes, adapter.weight_bytes);
  EXPECT_EQ(adapter.weight_bytes, 2 * 8.0 * (4096 + 2 * 14336));
}

// Each panel of the other devices passes through this one, and is not held.
TEST(LayerTable, WeightsAreThoseThatTheDeviceHolds) {
  Plan plan = plan_of(4);
  plan.tensor.layout = TensorLayout::two_d;
  const LayerRow fc1 = row_of(plan, "fc1");
  EXPECT_EQ(fc1.weight_bytes, 2 * 4096.0 * 2 * 14336 / 4);
  EXPECT_EQ(fc1.weight_gradient_bytes, fc1.weight_bytes);
  EXPECT_GT(named(layer_operations(llama(), plan, 0), "fc1").forward.weight_bytes,
            fc1.weight_bytes);
}

// 2.5d: forward exchanges within a grid, backward also adds weight gradients over the grids.
TEST(LayerTable, EachDirectionHasTheTiersOfItsOwnGroups) {
  Plan plan = plan_of(8);
  plan.tensor.layout = TensorLayout::two_and_half_d;
  plan.tensor.depth = 2;
  IdealRates far = rates;
  far.leaves_domain[static_cast<std::size_t>(ParallelDim::tensor_depth)] = true;
  const LayerRow fc1 = row_of(plan, "fc1", far);
  EXPECT_TRUE(fc1.forward.in_domain);
  EXPECT_FALSE(fc1.forward.leaves_domain);
  EXPECT_TRUE(fc1.backward.in_domain);
  EXPECT_TRUE(fc1.backward.leaves_domain);
}

TEST(LayerTable, GroupsHaveTheSizesOfTheirDimensions) {
  Plan plan = plan_of(32);
  plan.tensor.layout = TensorLayout::two_and_half_d;
  plan.tensor.depth = 2;
  plan.cp = 3;
  plan.ep = 6;
  plan.pp = 5;
  plan.dp = 4;
  EXPECT_EQ(group_size(plan, ParallelDim::tensor), 32);
  EXPECT_EQ(group_size(plan, ParallelDim::tensor_row), 4);
  EXPECT_EQ(group_size(plan, ParallelDim::tensor_column), 4);
  EXPECT_EQ(group_size(plan, ParallelDim::tensor_depth), 2);
  EXPECT_EQ(group_size(plan, ParallelDim::context), 3);
  EXPECT_EQ(group_size(plan, ParallelDim::expert), 6);
  EXPECT_EQ(group_size(plan, ParallelDim::pipeline), 5);
  EXPECT_EQ(group_size(plan, ParallelDim::data), 4);
  EXPECT_EQ(group_size(plan, ParallelDim::shard), 12);
  plan.shard_group = 2;
  EXPECT_EQ(group_size(plan, ParallelDim::shard), 2);
}

}  // namespace
}  // namespace stepscope
