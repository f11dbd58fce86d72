// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_flags.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/deepspeed_config.h"
#include "stepscope/cost/plan/plan_json.h"

namespace stepscope {
namespace {

Plan plan_405b() {
  Plan p{.devices = 16384, .tp = 8, .pp = 16, .dp = 128, .tensor = {.sequence_parallel = true}};
  p.zero = 1;
  p.batch.sequence = 8192;
  p.batch.global = 2048;
  p.pipeline.stage_layers = {7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7};
  p.precision.gradient_bytes = 4;
  return p;
}

// True if one of the sentences begins with `what`.
bool lacks(const FrameworkFlags& flags, std::string_view what) {
  for (const std::string& s : flags.not_expressed) {
    if (s.starts_with(what)) return true;
  }
  return false;
}

TEST(MegatronFlags, SayThePlan) {
  const Transformer m = *find_model("llama-3-405b");
  ASSERT_TRUE(check_plan(m, plan_405b()));
  const FrameworkFlags flags = megatron_flags(m, plan_405b());
  EXPECT_EQ(flags.text, R"(--tensor-model-parallel-size 8
--sequence-parallel
--pipeline-model-parallel-size 16
--pipeline-model-parallel-layout "Et*7|t*8|t*8|t*8|t*8|t*8|t*8|)"
                        R"(t*8|t*8|t*8|t*8|t*8|t*8|t*8|t*8|t*7,L"
--use-distributed-optimizer
--overlap-grad-reduce
--overlap-param-gather
--ddp-bucket-size 6553600
--micro-batch-size 1
--global-batch-size 2048
--seq-length 8192
--make-vocab-size-divisible-by 128
--bf16
--accumulate-allreduce-grads-in-fp32
--attention-backend flash
--cross-entropy-loss-fusion
)");
  EXPECT_TRUE(flags.not_expressed.empty());
}

TEST(MegatronFlags, SayContextExpertsInterleavingAndSharding) {
  const Transformer m = *find_model("mixtral-8x7b");
  Plan p{.devices = 64, .tp = 2, .cp = 2, .ep = 8, .pp = 2, .dp = 8};
  p.context_exchange = ContextExchange::ring;
  p.pipeline.schedule = Schedule::interleaved;
  p.pipeline.virtual_stages = 4;
  p.batch.global = 64;
  p.zero = 3;
  p.batch.reduce_each_micro = true;
  p.shard_group = 8;
  p.memory.recompute = Recompute::every_k;
  p.memory.recompute_every = 2;
  p.precision.matmul = Dtype::fp8;
  ASSERT_TRUE(check_plan(m, p)) << check_plan(m, p).error().message();
  const std::string text = megatron_flags(m, p).text;
  for (const std::string_view flag :
       {"--context-parallel-size 2\n", "--cp-comm-type p2p\n", "--expert-model-parallel-size 8\n",
        "--expert-tensor-parallel-size 2\n", "--num-virtual-stages-per-pipeline-rank 4\n",
        "--use-megatron-fsdp\n", "--data-parallel-sharding-strategy optim_grads_params\n",
        "--num-distributed-optimizer-instances 2\n", "--recompute-granularity full\n",
        "--recompute-method block\n", "--recompute-num-layers 2\n", "--fp8-format hybrid\n"}) {
    EXPECT_NE(text.find(flag), std::string::npos) << flag << text;
  }
}

TEST(MegatronFlags, SayWhatTheyCannot) {
  const Transformer m = *find_model("llama-3-8b");
  Plan p{.devices = 8, .tp = 4, .pp = 2, .dp = 1, .tensor = {.layout = TensorLayout::two_d}};
  p.pipeline.schedule = Schedule::zero_bubble_h1;
  p.memory.optimizer_at = Residence::nvme;
  p.memory.parameters_at = Residence::host;
  const FrameworkFlags flags = megatron_flags(m, p);
  for (const std::string_view what : {"tensor_layout 2d", "schedule zb-h1", "optimizer_at nvme",
                                      "parameters_at", "gradient_bytes 2"}) {
    EXPECT_TRUE(lacks(flags, what)) << what;
  }
}

TEST(DeepSpeedFlags, AreReadBackAsTheSamePlan) {
  const Transformer m = *find_model("llama-3-8b");
  for (const int zero : {0, 1, 2, 3}) {
    Plan p{.devices = 32, .tp = 2, .cp = 4, .dp = 4};
    p.context_exchange = ContextExchange::all_to_all;
    p.zero = zero;
    p.batch.sequence = 8192;
    p.batch.micro = 2;
    p.batch.global = 32;
    p.batch.reduce_each_micro = zero >= 2;
    p.overlap.parameter_gather = zero == 3;
    p.overlap.prefetch = zero == 3 ? 3 : 0;
    p.shard_group = zero == 3 ? 8 : 0;
    p.overlap.bucket = Bytes{400'000'000};
    p.precision.accumulated_gradient_bytes = zero == 2 ? 4 : 2;
    p.precision.gradient_bytes = zero == 1 ? 4 : 2;
    if (zero > 0) p.memory.optimizer_at = p.memory.gradients_at = Residence::host;
    if (zero == 3) p.memory.parameters_at = Residence::host;
    ASSERT_TRUE(check_plan(m, p)) << check_plan(m, p).error().message();
    const FrameworkFlags flags = deepspeed_flags(m, p);
    EXPECT_TRUE(flags.not_expressed.empty()) << flags.not_expressed[0];
    const auto again = parse_deepspeed(flags.text, "ds.json", {.devices = 32, .sequence = 8192}, m);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(plan_json(again->plan), plan_json(p));
  }
}

TEST(DeepSpeedFlags, SayWhatTheyCannot) {
  const Transformer m = *find_model("mixtral-8x7b");
  Plan p{.devices = 32,
         .tp = 2,
         .cp = 2,
         .ep = 4,
         .pp = 2,
         .dp = 4,
         .tensor = {.sequence_parallel = true}};
  p.batch.global = 8;
  p.memory.recompute = Recompute::full;
  p.zero = 2;
  p.shard_group = 4;
  const FrameworkFlags flags = deepspeed_flags(m, p);
  for (const std::string_view what :
       {"sequence_parallel", "cp with all_gather", "ep = 4", "pp = 2", "zero 2 with pp",
        "recompute full", "shard_group", "reduce_each_micro_batch false"}) {
    EXPECT_TRUE(lacks(flags, what)) << what;
  }
}

TEST(TorchtitanFlags, SayThePlan) {
  const Transformer m = *find_model("llama-3-70b");
  Plan p{.devices = 256, .tp = 8, .pp = 4, .dp = 8, .tensor = {.sequence_parallel = true}};
  p.pipeline.schedule = Schedule::interleaved;
  p.pipeline.virtual_stages = 2;
  p.zero = 3;
  p.shard_group = 4;
  p.batch.sequence = 8192;
  p.batch.global = 64;
  p.memory.recompute = Recompute::full;
  p.precision.gradient_bytes = 4;
  ASSERT_TRUE(check_plan(m, p)) << check_plan(m, p).error().message();
  const FrameworkFlags flags = torchtitan_flags(m, p);
  EXPECT_EQ(flags.text, R"([training]
local_batch_size = 8
global_batch_size = 64
seq_len = 8192
dtype = "float32"
mixed_precision_param = "bfloat16"

[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
fsdp_reshard_after_forward = "always"
tensor_parallel_degree = 8
context_parallel_degree = 1
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_microbatch_size = 1
pipeline_parallel_layers_per_stage = 10
pipeline_parallel_first_stage_less_layers = 0
pipeline_parallel_last_stage_less_layers = 0

[activation_checkpoint]
mode = "full"
)");
  EXPECT_TRUE(flags.not_expressed.empty());
}

TEST(TorchtitanFlags, NameTheModulesOfUnevenStages) {
  Transformer m = *find_model("llama-3-8b");
  m.layers = 3;
  Plan p{.devices = 2, .pp = 2, .dp = 1};
  p.pipeline.stage_layers = {2, 1};
  EXPECT_NE(torchtitan_flags(m, p).text.find(
                R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0", "layers.1"], )"
                R"(["layers.2", "norm", "output"]])"),
            std::string::npos);
}

TEST(TorchtitanFlags, SayWhatTheyCannot) {
  const Transformer m = *find_model("llama-3-8b");
  Plan p{.devices = 16, .tp = 2, .cp = 2, .pp = 2, .dp = 2};
  p.context_exchange = ContextExchange::all_to_all;
  p.pipeline.schedule = Schedule::zero_bubble_h2;
  p.zero = 1;
  p.memory.optimizer_at = Residence::host;
  p.memory.recompute = Recompute::every_k;
  p.memory.recompute_every = 4;
  const FrameworkFlags flags = torchtitan_flags(m, p);
  for (const std::string_view what :
       {"zero 1", "sequence_parallel false", "context_exchange all_to_all", "schedule zb-h2",
        "offload", "recompute every_k", "gradient_bytes 2"}) {
    EXPECT_TRUE(lacks(flags, what)) << what;
  }
}

}  // namespace
}  // namespace stepscope
