// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/deepspeed_config.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

const Transformer& llama() {
  static const Transformer model = *find_model("llama-3-8b");
  return model;
}

Result<DeepSpeedPlan> parse(std::string_view json, DeepSpeedRun run = {.devices = 16}) {
  return parse_deepspeed(json, "ds.json", run, llama());
}

Plan plan_of(std::string_view json, DeepSpeedRun run = {.devices = 16}) {
  auto plan = parse(json, run);
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? plan->plan : Plan{};
}

std::string complaint(std::string_view json, DeepSpeedRun run = {.devices = 16}) {
  const auto plan = parse(json, run);
  return plan ? "" : plan.error().message();
}

constexpr std::string_view whole = R"({
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 2,
  "steps_per_print": 10,
  "gradient_clipping": "auto",
  "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3, "overlap_comm": true, "contiguous_gradients": true,
    "reduce_bucket_size": 1e8, "stage3_prefetch_bucket_size": 5e8,
    "stage3_param_persistence_threshold": 1e5,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "none"}
  }
})";

TEST(DeepSpeed, IsReadAsAPlan) {
  const Plan p = plan_of(whole);
  EXPECT_EQ(p.dp, 16);
  EXPECT_EQ(p.zero, 3);
  EXPECT_EQ(p.batch.global, 64);
  EXPECT_EQ(p.batch.micro, 2);
  EXPECT_EQ(micro_batches(p), 2);
  EXPECT_EQ(p.overlap.bucket.value, 200'000'000) << "1e8 elements of bf16";
  EXPECT_EQ(p.overlap.prefetch, 2) << "5e8 elements of layers of 218 million";
  EXPECT_EQ(p.memory.optimizer_at, Residence::host);
  EXPECT_EQ(p.memory.gradients_at, Residence::host);
  EXPECT_EQ(p.memory.parameters_at, Residence::device);
  EXPECT_TRUE(p.overlap.gradient_reduce && p.overlap.parameter_gather);
  EXPECT_TRUE(p.batch.reduce_each_micro);
  EXPECT_EQ(p.precision.matmul, Dtype::bf16);
  EXPECT_EQ(p.precision.master_bytes, 4);
  EXPECT_EQ(p.precision.accumulated_gradient_bytes, 2);
  EXPECT_EQ(p.precision.optimizer_state_bytes, 8);
}

TEST(DeepSpeed, DerivesTheBatchAsItsEngineDoes) {
  EXPECT_EQ(plan_of(R"({"train_batch_size": 64})").batch.micro, 4);
  EXPECT_EQ(plan_of(R"({"train_micro_batch_size_per_gpu": 3})").batch.global, 48);
  const Plan p = plan_of(R"({"train_batch_size": 64, "gradient_accumulation_steps": 4})");
  EXPECT_EQ(p.batch.micro, 1);
  EXPECT_EQ(plan_of(R"({"train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 2})")
                .batch.global,
            96);
  EXPECT_EQ(complaint(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 3})"),
            "ds.json: line 1, column 2: field \"train_batch_size\" = 64 is not micro batch * "
            "accumulation * dp = 3 * 1 * 16; change one of them; DeepSpeed refuses it, too");
  EXPECT_NE(complaint(R"({"train_batch_size": 60})").find("= 60 is not"), std::string::npos);
  EXPECT_NE(complaint(R"({"train_batch_size": 1})").find("= 1 is not"), std::string::npos);
  EXPECT_NE(complaint("{}").find("both missing"), std::string::npos);
  EXPECT_NE(complaint(R"({"train_micro_batch_size_per_gpu": 1e12,
                          "gradient_accumulation_steps": 1e12})")
                .find("too large"),
            std::string::npos);
}

constexpr std::string_view all_auto = R"({
  "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto", "loss_scale": 0},
  "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}})";

TEST(DeepSpeed, TakesWhatAutoStandsForFromTheRun) {
  const DeepSpeedRun run{
      .devices = 16, .micro_batch = 2, .global_batch = 128, .dtype = Dtype::fp16};
  const Plan p = plan_of(all_auto, run);
  EXPECT_EQ(p.batch.micro, 2);
  EXPECT_EQ(p.batch.global, 128);
  EXPECT_EQ(p.precision.matmul, Dtype::fp16);
}

TEST(DeepSpeed, AutoWithoutAValueIsAssumedAndSaid) {
  const auto parsed = parse_deepspeed(all_auto, "ds.json", {.devices = 16}, llama());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->plan.batch.micro, 1);
  EXPECT_EQ(parsed->plan.batch.global, 16);
  EXPECT_EQ(parsed->plan.precision.matmul, Dtype::bf16);
  std::string notes;
  for (const std::string& n : parsed->notes) notes += n + '\n';
  for (const char* part : {"train_micro_batch_size_per_gpu is \"auto\"", "one pass a step",
                           "bf16.enabled is \"auto\""})
    EXPECT_NE(notes.find(part), std::string::npos) << notes;
}

TEST(DeepSpeed, TheBucketsOfAutoFollowFromTheHiddenSize) {
  const Transformer& m = llama();
  const Plan p = plan_of(all_auto, {.devices = 16, .global_batch = 16});
  EXPECT_EQ(p.overlap.bucket.value, m.hidden * m.hidden * p.precision.gradient_bytes);
}

TEST(DeepSpeed, AutoThatNoTrainerReplacesIsAnError) {
  EXPECT_NE(complaint(R"({"train_batch_size": 64,
                          "zero_optimization": {"stage": 3, "overlap_comm": "auto"}})")
                .find("\"zero_optimization.overlap_comm\" is \"auto\""),
            std::string::npos);
}

TEST(DeepSpeed, ReadsTheSecondCopyOfZeroPlusPlus) {
  const Plan p = plan_of(R"({"train_batch_size": 16,
                             "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})");
  EXPECT_EQ(p.secondary_group, 8);
  EXPECT_EQ(p.shard_group, 0);
}

TEST(DeepSpeed, KnowsItsPrecisions) {
  const Precision fp32 = plan_of(R"({"train_batch_size": 16})").precision;
  EXPECT_EQ(fp32.matmul, Dtype::fp32);
  EXPECT_EQ(fp32.parameter_bytes, 4);
  EXPECT_EQ(fp32.master_bytes, 0);
  const Precision mixed = plan_of(R"({"train_batch_size": 16, "bf16": {"enabled": true},
      "communication_data_type": "fp32", "data_types": {"grad_accum_dtype": "fp32"}})")
                              .precision;
  EXPECT_EQ(mixed.gradient_bytes, 4);
  EXPECT_EQ(mixed.accumulated_gradient_bytes, 4);
  const Precision lean = plan_of(R"({"train_batch_size": 16, "bf16": {"enabled": true,
      "bf16_master_weights_and_grads": true, "bf16_optimizer_states": true}})")
                             .precision;
  EXPECT_EQ(lean.master_bytes, 2);
  EXPECT_EQ(lean.optimizer_state_bytes, 4);
  EXPECT_EQ(plan_of(R"({"train_batch_size": 16, "optimizer": {"type": "Lion"}})")
                .precision.optimizer_state_bytes,
            4);
  EXPECT_NE(complaint(R"({"train_batch_size": 16, "fp16": {"enabled": true},
                          "bf16": {"enabled": true}})")
                .find("both enabled"),
            std::string::npos);
  EXPECT_NE(
      complaint(R"({"train_batch_size": 16, "optimizer": {"type": "Sophia"}})").find("\"Sophia\""),
      std::string::npos);
}

TEST(DeepSpeed, ShardsWithinAGroupByMics) {
  const Plan p = plan_of(R"({"train_batch_size": 16,
      "zero_optimization": {"stage": 3, "mics_shard_size": 8}})");
  EXPECT_EQ(p.shard_group, 8);
  EXPECT_EQ(plan_of(R"({"train_batch_size": 16,
      "zero_optimization": {"stage": 3, "mics_shard_size": -1}})")
                .shard_group,
            0);
}

TEST(DeepSpeed, TakesSequenceParallelRanksOutOfData) {
  const Plan p = plan_of(R"({"train_batch_size": 8, "sequence_parallel_size": 4})",
                         {.devices = 16, .tp = 2, .sequence = 8192});
  EXPECT_EQ(p.cp, 4);
  EXPECT_EQ(p.dp, 2);
  EXPECT_EQ(p.context_exchange, ContextExchange::all_to_all);
  EXPECT_NE(complaint(R"({"train_batch_size": 8, "sequence_parallel_size": 3})")
                .find("do not divide the 16 devices"),
            std::string::npos);
}

TEST(DeepSpeed, RefusesWhatChangesTheCostAndIsNotModelled) {
  const auto with = [](std::string_view fields) {
    return complaint(R"({"train_batch_size": 16, )" + std::string(fields) + "}");
  };
  for (const auto& [fields, name] :
       {std::pair{R"("sparse_gradients": true)", "\"sparse_gradients\""},
        {R"("amp": {"enabled": true})", "\"amp\""},
        {R"("compression_training": {})", "\"compression_training\""},
        {R"("new_feature": 1)", "\"new_feature\" is not understood"},
        {R"("zero_optimization": {"stage": 2, "new_key": 1})", "\"zero_optimization.new_key\""},
        {R"("zero_optimization": {"stage": 4})", "\"zero_optimization.stage\""},
        {R"("zero_optimization": {"stage": 3, "zero_quantized_weights": true})", "quantized"},
        {R"("zero_optimization": {"stage": 2, "reduce_scatter": false})", "reduce_scatter"},
        {R"("zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}})",
         "needs stage 3"},
        {R"("zero_optimization": {"offload_optimizer": {"device": "cpu"}})", "needs stage 1"},
        {R"("zero_optimization": {"stage": 3,
            "offload_optimizer": {"device": "cpu", "ratio": 0.5}})",
         "offload_optimizer.ratio"},
        {R"("activation_checkpointing": {"cpu_checkpointing": true})", "cpu_checkpointing"}}) {
    EXPECT_NE(with(fields).find(name), std::string::npos) << fields << ": " << with(fields);
  }
  EXPECT_NE(complaint(R"({"train_batch_size": 8, "zero_optimization": {"stage": 2}})",
                      {.devices = 16, .pp = 2})
                .find("pipeline engine refuses"),
            std::string::npos);
}

TEST(DeepSpeed, SaysWhatItAssumed) {
  const auto plan = parse(R"({"train_batch_size": 16,
      "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1e9}})");
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->notes.size(), 2U);
  EXPECT_NE(plan->notes[0].find("AdamW"), std::string::npos);
  EXPECT_NE(plan->notes[1].find("stage3_max_live_parameters"), std::string::npos);
}

TEST(DeepSpeed, IsHeldAgainstTheModel) {
  EXPECT_NE(complaint(R"({"train_batch_size": 5})", {.devices = 15, .tp = 3})
                .find("ds.json: 32 heads cannot be split over --tp 3"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
