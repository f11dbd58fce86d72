// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_flags.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

TrainFlags train_typed(std::string line) {
  CLI::App app;
  TrainFlags flags;
  declare(app, flags);
  app.parse(std::move(line));
  return flags;
}

TEST(TrainFlags, HaveTheFieldsDefaultsAndNames) {
  const TrainFlags none = train_typed("");
  EXPECT_EQ(none.request.zero, 3);
  EXPECT_EQ(none.precision, "f32");
  EXPECT_EQ(none.request.ranks, 0);
  EXPECT_EQ(train_typed("--dtype fp32").precision, "f32");
  EXPECT_DOUBLE_EQ(train_typed("--validation 10%").request.validation, 0.1);
  EXPECT_DOUBLE_EQ(train_typed("--deadline 1500ms").deadline, 1.5);
  const TrainFlags all = train_typed(
      "--preset gpt2-124m --zero 2 --ranks 4 --micro-batch 4 --seq 64 --grad-accum 2 --dtype bf16 "
      "--lr 1e-3 --lr-schedule cosine --lr-warmup 10 --offload optimizer --offload parameters "
      "--inject "
      "slow:1:30%");
  EXPECT_EQ(all.request.preset, "gpt2-124m");
  EXPECT_EQ(all.request.accumulation, 2);
  EXPECT_EQ(all.offload, (std::vector<std::string>{"optimizer", "parameters"}));
  EXPECT_EQ(all.inject.size(), 1U);
}

TEST(TrainFlags, FilesAreKnownBeforeTrainingBegins) {
  const auto request = request_of(train_typed("--data x --json a.json --html b.html"));
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->outputs, (std::vector<std::string>{"a.json", "b.html"}));
  const auto printed = request_of(train_typed("--data x --json -"));
  ASSERT_TRUE(printed);
  EXPECT_TRUE(printed->outputs.empty());
}

TEST(TrainFlags, TakeTheNamesOfEarlierVersionsToo) {
  const TrainFlags old = train_typed("--batch 4 --precision bf16 --warmup 10 --keep 3");
  EXPECT_EQ(old.request.batch, 4);
  EXPECT_EQ(old.precision, "bf16");
  EXPECT_EQ(old.request.warmup, 10);
  EXPECT_EQ(old.request.keep, 3);
}

TEST(TrainFlags, RefuseWhatCannotBe) {
  for (const char* line :
       {"--zero 4", "--zero -1", "--ranks 0", "--dtype fp8", "--micro-batch 0", "--steps 0",
        "--lr nan", "--lr -1", "--transport nccl", "--validation 2", "--validation 95%",
        "--beta2 1", "--peak-tflops 0", "--deadline nan", "--deadline 3h", "--bucket x"})
    EXPECT_THROW((void)train_typed(line), CLI::ParseError) << line;
}

TEST(TrainFlags, MeanARequest) {
  const auto request = request_of(train_typed(
      "--transport shm --precision bf16 --accumulation accumulate_then_reduce --schedule "
      "cosine --on-nan skip --bucket 1MiB --recompute every:2 --offload "
      "optimizer,gradients:/mnt/a --trace-steps 1,0,2 --inject sync:1 --peak-tflops 0.5 "
      "--deadline 2s --json out.json --data-format u16"));
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->transport, "shm");
  EXPECT_EQ(request->precision, ElementType::bf16);
  EXPECT_EQ(request->accumulate, zero::Accumulation::accumulate_then_reduce);
  EXPECT_EQ(request->decay, zero::Decay::cosine);
  EXPECT_EQ(request->non_finite, zero::NonFinite::skip);
  EXPECT_EQ(request->bucket, Bytes{1 << 20});
  EXPECT_EQ(request->recompute.every, 2);
  EXPECT_EQ(request->offload.gradients, "/mnt/a");
  EXPECT_TRUE(request->offload.parameters.empty());
  EXPECT_EQ(request->trace_steps.active, 2);
  ASSERT_EQ(request->faults.size(), 1U);
  EXPECT_EQ(request->faults[0].text, "sync:1");
  EXPECT_DOUBLE_EQ(request->peak->value, 0.5e12);
  EXPECT_EQ(request->deadline, Ns{2'000'000'000});
  EXPECT_EQ(request->outputs, std::vector<std::string>{"out.json"});
  EXPECT_EQ(request->data_format, zero::TokenFormat::u16);
}

// What no flag says, the library's request does not say either, but for the transport.
TEST(TrainFlags, WithoutFlagsTheRequestIsTheLibrarysOwn) {
  const auto none = request_of(train_typed(""));
  ASSERT_TRUE(none);
  const TrainRequest own;
  EXPECT_EQ(none->transport, "");
  EXPECT_EQ(none->bucket, own.bucket);
  EXPECT_EQ(none->deadline, own.deadline);
  EXPECT_EQ(none->non_finite, own.non_finite);
  EXPECT_EQ(none->accumulate, own.accumulate);
  EXPECT_EQ(none->decay, own.decay);
  EXPECT_FALSE(none->peak);
  EXPECT_TRUE(none->outputs.empty());
}

TEST(TrainFlags, NameTheFlagThatCannotBeRead) {
  for (const char* line : {"--recompute some", "--offload optimizer", "--offload weights:/mnt/a",
                           "--offload optimizer,optimizer:/mnt/a", "--trace-steps 1",
                           "--inject fast:1:5ms", "--html a --plan-only", "--trace a --plan-only",
                           "--export a --plan-only", "--plan-rank 0"}) {
    const auto request = request_of(train_typed(line));
    ASSERT_FALSE(request) << line;
    EXPECT_EQ(request.error().what.substr(0, 5), std::string(line).substr(0, 5));
    EXPECT_FALSE(request.error().hint.empty()) << line;
  }
}

TEST(TrainFlags, APlanIsOfAnyNumberOfRanks) {
  const auto request = request_of(train_typed("--plan-only --json a --ranks 4096 --plan-rank 7"));
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->ranks, 4096);
  EXPECT_EQ(request->plan_rank, 7);
  EXPECT_EQ(request_of(train_typed("--ranks 99999999999"))->ranks, std::numeric_limits<int>::max());
  EXPECT_FALSE(request_of(train_typed("--plan-only"))->plan_rank);
}

TEST(TraceSchedule, IsFourNumbers) {
  const auto s = parse_trace_schedule("2,1,3,2");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->wait, 2);
  EXPECT_EQ(s->warmup, 1);
  EXPECT_EQ(s->active, 3);
  EXPECT_EQ(s->repeat, 2);
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
