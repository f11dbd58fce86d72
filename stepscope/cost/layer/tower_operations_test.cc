// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/model/tower_test_models.h"

namespace stepscope {
namespace {

using namespace operations_test;

Transformer seeing() {
  Transformer m = *find_model("qwen3-8b");
  m.tower = qwen_tower();
  return m;
}

Plan with_images(std::int64_t tp = 1) {
  Plan plan = operations_test::plan_of(tp);
  plan.batch.sequence = 4096;
  plan.batch.micro = 2;
  plan.batch.global = 2;
  plan.batch.images = 3;
  plan.batch.image_patches = 1024;
  return plan;
}

TEST(TowerOperations, HaveTheFlopsAndParametersOfTheModelAlone) {
  const Transformer m = seeing();
  const Plan plan = with_images();
  const Operations layer = tower_layer_operations(m, plan);
  const Operations ends = tower_end_operations(m, plan);
  EXPECT_NEAR((27 * forward_matrix(layer) + forward_matrix(ends)) / (6 * tower_flops(m, 1024)), 1,
              1e-12)
      << "two sequences of three images";
  EXPECT_EQ(27 * parameters(layer) + parameters(ends),
            static_cast<double>(parameter_count(m).tower));
  // A patch sees the patches of its image only.
  EXPECT_DOUBLE_EQ(named(layer, "attention").forward.matrix.value, 6 * 4.0 * 1024 * 1024 * 1152);
}

TEST(TowerOperations, AreDividedByTensorRanksAndNotByOthers) {
  const Transformer m = seeing();
  Plan plan = with_images(4);
  plan.tensor.sequence_parallel = true;
  plan.cp = 2;
  const Operations part = tower_layer_operations(m, plan);
  const Operations whole = tower_layer_operations(m, with_images());
  for (const std::string_view name : {"qkv_proj", "attention", "fc1", "fc2"}) {
    EXPECT_DOUBLE_EQ(4 * named(part, name).forward.matrix.value,
                     named(whole, name).forward.matrix.value)
        << name;
  }
  const Operations ends = tower_end_operations(m, plan);
  EXPECT_DOUBLE_EQ(
      4 * named(ends, "merger_fc1").forward.matrix.value,
      named(tower_end_operations(m, with_images()), "merger_fc1").forward.matrix.value);
}

TEST(TowerOperations, RunForwardAloneIfFrozen) {
  const Transformer m = seeing();
  Plan plan = with_images();
  plan.trained.frozen.add(ModelPart::tower);
  for (const Operations& ops : {tower_layer_operations(m, plan), tower_end_operations(m, plan)}) {
    EXPECT_EQ(backward_matrix(ops), 0);
    EXPECT_EQ(kept(ops), 0);
    EXPECT_GT(forward_matrix(ops), 0);
    for (const Operation& op : ops) EXPECT_FALSE(op.trained) << op.name;
  }
}

TEST(TowerOperations, NeedImagesThatFit) {
  const Transformer m = seeing();
  const auto complaint = [&](auto change) {
    Plan plan = with_images();
    plan.devices = 1;
    change(plan);
    const auto checked = check_plan(m, plan);
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_EQ(complaint([](Plan&) {}), "");
  EXPECT_EQ(complaint([](Plan& p) { p.batch.images = p.batch.image_patches = 0; }), "");
  EXPECT_NE(complaint([](Plan& p) { p.batch.images = 0; }).find("--image-patches"),
            std::string::npos);
  EXPECT_NE(complaint([](Plan& p) { p.batch.image_patches = 1022; }).find("multiple"),
            std::string::npos);
  EXPECT_NE(complaint([](Plan& p) { p.batch.images = 17; }).find("tokens"), std::string::npos);
  EXPECT_FALSE(check_plan(*find_model("qwen3-8b"), with_images())) << "it has no tower";
  Plan plan = with_images(32);
  plan.devices = 32;
  EXPECT_FALSE(check_plan(m, plan)) << "16 heads";
}

TEST(TowerOperations, TrainOnlyWhereGradientsReachTheTower) {
  const Transformer m = seeing();
  const auto trains_without = [](const Transformer& of, Plan plan,
                                 std::initializer_list<ModelPart> frozen) {
    plan.devices = 1;
    for (const ModelPart part : frozen) plan.trained.frozen.add(part);
    return static_cast<bool>(check_plan(of, plan));
  };
  EXPECT_TRUE(trains_without(m, with_images(), {ModelPart::tower}));
  EXPECT_FALSE(trains_without(*find_model("llama-3-8b"), {}, {ModelPart::tower})) << "it has none";
  // Its gradient would have to pass frozen layers, which pass none on without an earlier part.
  EXPECT_FALSE(trains_without(m, with_images(), {ModelPart::embedding, ModelPart::layers}));
  EXPECT_TRUE(
      trains_without(m, with_images(), {ModelPart::embedding, ModelPart::layers, ModelPart::tower}))
      << "the head trains";
}

}  // namespace
}  // namespace stepscope
