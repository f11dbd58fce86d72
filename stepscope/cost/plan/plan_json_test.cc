// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_json.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace stepscope {
namespace {

std::string plan_complaint(std::string_view json) {
  const auto plan = parse_plan(json, "p.json");
  return plan ? "" : plan.error().message();
}

TEST(PlanFile, OfNothingIsTheDefaultPlan) {
  const auto plan = parse_plan("{}", "p.json");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan_json(*plan), plan_json(Plan{}));
}

TEST(PlanFile, IsWrittenAndReadBackTheSame) {
  Plan plan{.devices = 64, .tp = 4, .cp = 2, .pp = 4, .dp = 2};
  plan.tensor.layout = TensorLayout::two_and_half_d;
  plan.tensor.rows = 2;
  plan.tensor.columns = 1;
  plan.tensor.depth = 2;
  plan.tensor.sequence_parallel = true;
  plan.tensor.sequence_degree = 8;
  plan.context_exchange = ContextExchange::all_to_all;
  plan.ep = 8;
  plan.pipeline.schedule = Schedule::zero_bubble_h1;
  plan.pipeline.virtual_stages = 2;
  plan.pipeline.stage_layers = {7, 8, 9, 8};
  plan.zero = 3;
  plan.shard_group = 2;
  plan.batch.sequence = 8192;
  plan.batch.micro = 3;
  plan.batch.global = 96;
  plan.batch.reduce_each_micro = true;
  plan.memory.recompute = Recompute::every_k;
  plan.memory.recompute_every = 5;
  plan.kernels.fused_attention = plan.kernels.fused_pointwise = plan.kernels.fused_loss = false;
  plan.kernels.fused_gradient_sum = false;
  plan.precision = {.matmul = Dtype::fp8,
                    .parameter_bytes = 1,
                    .gradient_bytes = 4,
                    .accumulated_gradient_bytes = 2,
                    .master_bytes = 0,
                    .optimizer_state_bytes = 2,
                    .activation_bytes = 4};
  plan.memory.optimizer_at = Residence::nvme;
  plan.memory.gradients_at = plan.memory.parameters_at = Residence::host;
  plan.overlap.gradient_reduce = plan.overlap.parameter_gather = false;
  plan.overlap.prefetch = 4;
  plan.overlap.bucket = Bytes{123};
  plan.overlap.tensor = true;
  plan.kernels.vocabulary_multiple = 64;
  const auto again = parse_plan(plan_json(plan), "p.json");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(plan_json(*again), plan_json(plan));
  EXPECT_EQ(again->pipeline.stage_layers, plan.pipeline.stage_layers);
  EXPECT_EQ(again->tensor.rows, 2);
  EXPECT_EQ(again->tensor.sequence_degree, 8);
  EXPECT_EQ(again->memory.optimizer_at, Residence::nvme);
  EXPECT_EQ(again->precision.matmul, Dtype::fp8);
}

TEST(PlanFile, DerivesDevicesOrDp) {
  EXPECT_EQ(parse_plan(R"({"tp": 4, "pp": 2, "dp": 3})", "p")->devices, 24);
  EXPECT_EQ(parse_plan(R"({"tp": 4, "pp": 2, "devices": 32})", "p")->dp, 4);
  EXPECT_EQ(
      parse_plan(R"({"tp": 2, "sequence_parallel": true, "sequence_degree": 4})", "p")->devices, 4);
  EXPECT_EQ(plan_complaint(R"({"tp": 4, "pp": 2, "devices": 30})"),
            "p.json: line 1, column 20: field \"devices\" = 30 is no multiple of tp * cp * pp = 8; "
            "change or remove it");
}

TEST(PlanFile, NamesTheLineColumnAndFieldThatIsWrong) {
  EXPECT_EQ(plan_complaint("{\n  \"tp\": 4,\n  \"tpp\": 2\n}"),
            "p.json: line 3, column 3: field \"tpp\" is not a field of a plan; "
            "docs/reference/plans.md has "
            "all fields");
  EXPECT_NE(plan_complaint(R"({"tp": -1})").find("\"tp\" must be a whole number"),
            std::string::npos);
  for (const char* zero : {R"({"tp": 0})", R"({"cp": 0})", R"({"pp": 0})", R"({"dp": 0})",
                           R"({"micro_batch": 0})", R"({"tp_depth": 0})"})
    EXPECT_NE(plan_complaint(zero).find("must be a whole number from 1"), std::string::npos)
        << zero;
  EXPECT_NE(
      plan_complaint(R"({"schedule": "1f2b"})").find("gpipe, 1f1b, interleaved, zb-h1, zb-h2"),
      std::string::npos);
  EXPECT_NE(plan_complaint(R"({"precision": {"matmul": "bf17"}})").find("\"precision.matmul\""),
            std::string::npos);
  EXPECT_NE(plan_complaint(R"({"precision": {"bytes": 2}})").find("\"precision.bytes\" is not a"),
            std::string::npos);
  EXPECT_NE(plan_complaint(R"({"stage_layers": 4})").find("a list"), std::string::npos);
  EXPECT_NE(plan_complaint(R"({"zero": "3"})").find("\"zero\""), std::string::npos);
  EXPECT_NE(plan_complaint("{").find("not JSON"), std::string::npos);
}

TEST(PlanFile, IsReadFromDisk) {
  const std::string path = ::testing::TempDir() + "plan_json_test.json";
  std::ofstream(path) << R"({"tp": 2})";
  EXPECT_EQ(read_plan(path)->tp, 2);
  std::remove(path.c_str());
  EXPECT_FALSE(read_plan(path));
}

}  // namespace
}  // namespace stepscope
