// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/plan_words.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(PlanWords, WordsAPlanByWhatItSplits) {
  Plan plan;
  plan.tp = 8;
  plan.sequence_parallel = true;
  plan.pp = 4;
  plan.dp = 2;
  plan.zero = 1;
  plan.global_batch = 16;
  EXPECT_EQ(plan_in_words(plan),
            "TP 8 with sequence parallelism · PP 4 (1f1b) · DP 2, ZeRO-1 · 8 micro-batches of 1 × "
            "2048 tokens · bf16");
  plan.optimizer_at = Residence::host;
  plan.gradients_at = Residence::host;
  plan.parameters_at = Residence::nvme;
  EXPECT_EQ(plan_in_words(plan),
            "TP 8 with sequence parallelism · PP 4 (1f1b) · DP 2, ZeRO-1 · 8 micro-batches of 1 × "
            "2048 tokens · optimizer, gradients in host memory · parameters in NVMe · bf16");
}

}  // namespace
}  // namespace stepscope
