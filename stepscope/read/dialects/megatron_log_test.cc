// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

JobLog megatron_log_of(const std::string& text) {
  auto log = parse_job_log(text, "a.log");
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : JobLog{};
}

const std::string arguments =
    "using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4, "
    "pipeline-model-parallel size: 16 \n"
    "  fp16 ............................................ True\n"
    "  params_dtype .................................... torch.float16\n"
    "  world_size ...................................... 64\n";
const std::string of_deepspeed =
    "[2021-06-10 20:47:51,887] [INFO] [config.py:904:print]   world_size ................... ";
const std::string step =
    " iteration        1/    1000 | consumed samples:         1024 | elapsed time per iteration "
    "(ms): 1500.0 | global batch size:  1024 | lm-loss: 1.244238E+01 | number of skipped "
    "iterations:   0 |\n";

TEST(MegatronLog, DeepSpeedsWorldSizeIsOfDataParallelism) {
  const JobLog log = megatron_log_of(arguments + of_deepspeed + "1\n" + step);
  EXPECT_EQ(log.settings.at("world_size"), "64");
  EXPECT_EQ(log.settings.at("params_dtype"), "torch.float16");
  ASSERT_EQ(log.records.size(), 1U);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 12.44238);
  EXPECT_EQ(log.records[0].launch, 0);
  // The job has that number of devices at least.
  EXPECT_EQ(megatron_log_of(of_deepspeed + "16\n" + step).settings.at("world_size"), "16");
}

TEST(MegatronLog, AnEffectiveRateIsOfTheStepBeforeIt) {
  const JobLog log = megatron_log_of(
      arguments + step + "Effective Tera Flops per GPU: 41.31 and total parameters 52.005 B\n");
  ASSERT_EQ(log.records.size(), 1U);
  EXPECT_DOUBLE_EQ(*log.records[0].flops_per_s, 41.31e12);
  EXPECT_EQ(log.settings.at("rate_field"), effective_rate);
}

}  // namespace
}  // namespace stepscope
