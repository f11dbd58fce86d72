// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_fields.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

// The error's text, or empty.
std::string complaint(std::string_view name, std::string_view text) {
  Plan plan;
  const auto set = set_plan_field(plan, name, text);
  return set ? std::string() : set.error().message();
}

Plan with(std::string_view name, std::string_view text) {
  Plan plan;
  const auto set = set_plan_field(plan, name, text);
  EXPECT_TRUE(set) << name << ' ' << (set ? "" : set.error().message());
  return plan;
}

TEST(PlanFields, TakeDegreesAndNames) {
  EXPECT_EQ(with("tp", "8").tp, 8);
  EXPECT_EQ(with("tp-rows", "2").tensor.rows, 2);
  EXPECT_EQ(with("tp-columns", "3").tensor.columns, 3);
  EXPECT_EQ(with("sequence-degree", "4").tensor.sequence_degree, 4);
  EXPECT_EQ(with("zero", "3").zero, 3);
  EXPECT_EQ(with("tensor-layout", "2.5d").tensor.layout, TensorLayout::two_and_half_d);
  EXPECT_EQ(with("schedule", "zb-h1").pipeline.schedule, Schedule::zero_bubble_h1);
  EXPECT_EQ(with("stage-layers", "10,12,12,10").pipeline.stage_layers,
            (std::vector<std::int64_t>{10, 12, 12, 10}));
  EXPECT_FALSE(with("attention", "materialised").kernels.fused_attention);
  EXPECT_TRUE(with("attention", "fused").kernels.fused_attention);
  EXPECT_EQ(with("bucket", "40MiB").overlap.bucket, Bytes{40 * 1024 * 1024});
  EXPECT_EQ(with("seq", "8192").batch.sequence, 8192);
}

TEST(PlanFields, TakeUnderscoresForDashes) {
  EXPECT_TRUE(with("sequence_parallel", "true").tensor.sequence_parallel);
  EXPECT_EQ(with("micro_batch", "4").batch.micro, 4);
}

TEST(PlanFields, OffloadNamesThePartsAndTheirPlaces) {
  const Plan plan = with("offload", "optimizer=host,parameters=nvme");
  EXPECT_EQ(plan.memory.optimizer_at, Residence::host);
  EXPECT_EQ(plan.memory.gradients_at, Residence::device);
  EXPECT_EQ(plan.memory.parameters_at, Residence::nvme);
  for (const char* wrong : {"optimizer", "optimizer=", "=host", "weights=host", "optimizer=disk"})
    EXPECT_NE(complaint("offload", wrong).find("write optimizer=host"), std::string::npos) << wrong;
}

TEST(PlanFields, NoOverlapNamesWhatHidesNowhere) {
  const Plan plan = with("no-overlap", "gradient,parameters");
  EXPECT_FALSE(plan.overlap.gradient_reduce || plan.overlap.parameter_gather);
  EXPECT_TRUE(with("no-overlap", "gradient").overlap.parameter_gather);
}

TEST(PlanFields, ANumberFormatSetsTheBytesOfEverything) {
  const Precision full = with("dtype", "fp32").precision;
  EXPECT_EQ(full.parameter_bytes, 4);
  EXPECT_EQ(full.master_bytes, 0);
  const Precision mixed = with("dtype", "bf16").precision;
  EXPECT_EQ(mixed.parameter_bytes, 2);
  EXPECT_EQ(mixed.master_bytes, 4);
  EXPECT_EQ(with("dtype", "fp8").precision.matmul, Dtype::fp8);
  EXPECT_EQ(with("grad-dtype", "fp32").precision.gradient_bytes, 4);
}

TEST(PlanFields, KeepingEveryKthLayerIsARecomputation) {
  const Plan plan = with("recompute", "every:4");
  EXPECT_EQ(plan.memory.recompute, Recompute::every_k);
  EXPECT_EQ(plan.memory.recompute_every, 4);
}

TEST(PlanFields, RefuseWhatIsNoPositiveNumber) {
  for (const char* text : {"0", "-1", "x", "", "1.5", "nan", "inf", "1e3", " 2", "2 ", "+2", "0x8",
                           "99999999999999999999"})
    for (const char* name : {"tp", "pp", "dp", "seq", "global-batch"})
      EXPECT_NE(complaint(name, text).find("no positive whole number; write 1 or more"),
                std::string::npos)
          << name << ' ' << text;
}

TEST(PlanFields, SayWhatWouldWorkWhereANameIsUnknown) {
  EXPECT_NE(complaint("schedule", "1f2b").find("write gpipe, 1f1b, interleaved"),
            std::string::npos);
  EXPECT_NE(complaint("zero", "4").find("write 0, 1, 2 or 3"), std::string::npos);
  EXPECT_NE(complaint("dtype", "int3").find("write fp32"), std::string::npos);
  EXPECT_NE(complaint("zer", "1").find("did you mean zero"), std::string::npos);
}

TEST(PlanFields, AreFoundByTheirNamesAndExplainThemselves) {
  std::set<std::string_view> names;
  for (const PlanField& field : plan_fields()) {
    EXPECT_EQ(find_plan_field(field.name), &field);
    EXPECT_FALSE(field.what.empty());
    names.insert(field.name);
  }
  EXPECT_EQ(names.size(), plan_fields().size());
  EXPECT_EQ(find_plan_field("nothing"), nullptr);
}

TEST(PlanFields, AreWrittenAsTheyAreRead) {
  Plan plan;
  for (const auto& [name, text] :
       {std::pair{"tp-rows", "3"}, std::pair{"attention", "materialised"},
        std::pair{"stage-layers", "7,8,8,7"}, std::pair{"sequence-parallel", "true"},
        std::pair{"freeze", "embedding,tower"}, std::pair{"grad-dtype", "fp32"},
        std::pair{"bucket", "40MiB"}, std::pair{"dtype", "fp8"}, std::pair{"offload", ""}}) {
    if (*text != '\0') plan = with(name, text);
    EXPECT_EQ(plan_field_text(*find_plan_field(name), plan), text) << name;
  }
}

TEST(PlanFields, AreNamedByTheirFlagsOrElseByTheirKeys) {
  Plan plan{.tensor = {.rows = 2}};
  EXPECT_EQ(flag_of(plan, &plan.tensor.rows), "--tp-rows");
  EXPECT_EQ(flag_with_value(plan, &plan.tensor.rows), "--tp-rows 2");
  EXPECT_EQ(flag_with_value(plan, &plan.tensor.layout), "--tensor-layout 1d");
  EXPECT_EQ(flag_with_value(plan, &plan.memory.recompute_every), "recompute_every = 1");
  EXPECT_EQ(flag_of(plan, &plan.precision.master_bytes), "precision.master_bytes");
}

}  // namespace
}  // namespace stepscope
