// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_flags.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TrainFlags typed(std::string line) {
  CLI::App app;
  TrainFlags flags;
  declare(app, flags);
  app.parse(std::move(line));
  return flags;
}

TEST(TrainFlags, HaveTheFieldsDefaultsAndNames) {
  const TrainFlags none = typed("");
  EXPECT_EQ(none.zero, 3);
  EXPECT_EQ(none.precision, "f32");
  EXPECT_EQ(none.ranks, 0);
  EXPECT_EQ(typed("--dtype fp32").precision, "f32");
  EXPECT_DOUBLE_EQ(typed("--validation 10%").validation, 0.1);
  EXPECT_DOUBLE_EQ(typed("--deadline 1500ms").deadline, 1.5);
  const TrainFlags all = typed(
      "--preset gpt2-124m --zero 2 --ranks 4 --micro-batch 4 --seq 64 --grad-accum 2 --dtype bf16 "
      "--lr 1e-3 --lr-schedule cosine --lr-warmup 10 --offload optimizer --offload parameters "
      "--inject "
      "slow:1:30%");
  EXPECT_EQ(all.preset, "gpt2-124m");
  EXPECT_EQ(all.accumulation, 2);
  EXPECT_EQ(all.offload, (std::vector<std::string>{"optimizer", "parameters"}));
  EXPECT_EQ(all.inject.size(), 1U);
}

TEST(TrainFlags, TakeTheNamesOfEarlierVersionsToo) {
  const TrainFlags old = typed("--batch 4 --precision bf16 --warmup 10 --keep 3");
  EXPECT_EQ(old.batch, 4);
  EXPECT_EQ(old.precision, "bf16");
  EXPECT_EQ(old.warmup, 10);
  EXPECT_EQ(old.keep, 3);
}

TEST(TrainFlags, RefuseWhatCannotBe) {
  for (const char* line :
       {"--zero 4", "--zero -1", "--ranks 0", "--dtype fp8", "--micro-batch 0", "--steps 0",
        "--lr nan", "--lr -1", "--transport nccl", "--validation 0.1", "--validation 95%",
        "--beta2 1", "--peak-tflops 0", "--deadline nan", "--deadline 3", "--bucket x"})
    EXPECT_THROW((void)typed(line), CLI::ParseError) << line;
}

TEST(TraceSchedule, CountsAsTheProfilersSchedule) {
  const auto s = parse_trace_schedule("2,1,3,2");
  ASSERT_TRUE(s);
  std::string recorded;
  for (int step = 0; step < 15; ++step) recorded += s->records(step) ? 'x' : '.';
  EXPECT_EQ(recorded, "...xxx...xxx...");
  const auto forever = parse_trace_schedule("0,0,1,0");
  ASSERT_TRUE(forever);
  EXPECT_TRUE(forever->records(1000));
  EXPECT_EQ(parse_trace_schedule("")->active, 5);
  for (const char* wrong : {"1", "1,2", "1,2,0", "a,1,2,3", "1,2,3,4,5", "-1,0,1,1", "1,1,1,"})
    EXPECT_FALSE(parse_trace_schedule(wrong)) << wrong;
}

TEST(Faults, SayWhoWhatAndWhen) {
  const auto slow = parse_fault("slow:1:30%");
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->kind, FaultKind::slow);
  EXPECT_EQ(slow->rank, 1);
  EXPECT_DOUBLE_EQ(slow->percent, 30);
  EXPECT_EQ(slow->until, -1);
  const auto sleep = parse_fault("sleep:0:2.5ms@3-7");
  ASSERT_TRUE(sleep);
  EXPECT_EQ(sleep->time, Ns{2'500'000});
  EXPECT_EQ(sleep->from, 3);
  EXPECT_EQ(sleep->until, 7);
  EXPECT_EQ(parse_fault("data:2:1s@4")->until, 5);
  EXPECT_EQ(parse_fault("data:2:1s@4-")->until, -1);
  const auto link = parse_fault("throttle:50us:2GB");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->kind, FaultKind::throttle);
  EXPECT_EQ(link->time, Ns{50'000});
  EXPECT_DOUBLE_EQ(link->rate.value, 2e9);
  const auto sync = parse_fault("sync@2-5");
  ASSERT_TRUE(sync);
  EXPECT_EQ(sync->kind, FaultKind::sync);
  EXPECT_EQ(sync->rank, -1);
  EXPECT_EQ(sync->until, 5);
  EXPECT_EQ(parse_fault("sync:1")->rank, 1);
  const auto kill = parse_fault("kill:1:backward@5");
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->kind, FaultKind::kill);
  EXPECT_EQ(kill->phase, FaultPhase::backward);
  EXPECT_EQ(kill->from, 5);
  EXPECT_EQ(parse_fault("stop:0:start")->phase, FaultPhase::start);
  for (const char* wrong : {"",
                            "slow",
                            "slow:1",
                            "slow:1:30",
                            "slow:-1:30%",
                            "slow:x:30%",
                            "sleep:1:5",
                            "sleep:1:-5ms",
                            "sleep:1:1e300s",
                            "fast:1:5ms",
                            "throttle:1us",
                            "sync:",
                            "sync:x",
                            "sync:1:5ms",
                            "throttle:1us:0GB",
                            "slow:1:nan%",
                            "sleep:1:5ms@",
                            "sleep:1:5ms@7-3",
                            "sleep:1:5ms@1-2-3",
                            "slow:1:30%:4",
                            "kill:1",
                            "kill:1:",
                            "stop:1:lunch@3",
                            "kill:x:data"})
    EXPECT_FALSE(parse_fault(wrong)) << wrong;
}

}  // namespace
}  // namespace stepscope
