// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/say/say.h"
#include "stepscope/verbs/check/check_lines.h"

namespace stepscope {
namespace {

class CheckInput : public testing::Test {
 protected:
  ~CheckInput() override { std::filesystem::remove(path_); }

  CheckResult check_of(const std::string& text, CheckRequest request = {}) const {
    std::ofstream(path_) << text;
    if (request.traces.inputs.empty()) request.traces.inputs = {path_};
    auto result = check(request);
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : CheckResult{.version = "", .input = "", .facts = {}};
  }

  std::string path_ = testing::TempDir() + "check_test_" + std::to_string(getpid()) + ".csv";
};

// Ten steps of `ranks` ranks; the last rank is slower by this share.
std::string table_of(int ranks, double slower) {
  std::string text = "step,rank,step_time_ns\n";
  for (int step = 3; step < 13; ++step)
    for (int rank = 0; rank < ranks; ++rank)
      text += std::to_string(step) + ',' + std::to_string(rank) + ',' +
              std::to_string(rank == ranks - 1 ? 1e6 * (1 + slower) : 1e6) + '\n';
  return text;
}

TEST_F(CheckInput, ATableOfRanksTellsTheirTimes) {
  const CheckResult c = check_of(table_of(4, 0.02));
  ASSERT_EQ(c.times.ranks.size(), 4U);
  EXPECT_EQ(c.times.columns.front().first, 3);
  EXPECT_NEAR(*c.times.ranks[3].deviation, 0.02, 1e-9);
  EXPECT_TRUE(c.late.empty());
}

TEST_F(CheckInput, ARankWhoseStepsAreMuchLongerIsNamed) {
  const CheckResult c = check_of(table_of(4, 0.1));
  EXPECT_EQ(say_all(c.late), std::vector<std::string>{"a step of rank 3 takes 10.0 % longer than "
                                                      "that of the median rank"});
}

TEST_F(CheckInput, ALogOfGpusWithAListTellsTheirUse) {
  const std::string gpus = path_ + ".gpus.csv";
  std::ofstream(gpus) << "timestamp, index, utilization.gpu [%]\n"
                         "2026/11/25 10:11:12.000, 0, 98 %\n"
                         "2026/11/25 10:11:12.000, 1, 60 %\n"
                         "2026/11/25 10:11:13.000, 0, 96 %\n"
                         "2026/11/25 10:11:13.000, 1, [N/A]\n";
  const CheckResult c = check_of("5\n6\n5\n", {.traces = {.inputs = {gpus, path_}}});
  std::filesystem::remove(gpus);
  EXPECT_EQ(c.input, path_);
  EXPECT_EQ(c.facts.arm.steps, 3U);
  ASSERT_EQ(c.lines.back().name, "gpu_utilization");
  EXPECT_NEAR(*c.lines.back().value, (0.97 + 0.60) / 2, 1e-6);
  EXPECT_EQ(c.lines.back().status, CheckStatus::look);
  EXPECT_EQ(say(c.lines.back().sentence),
            "2 GPUs ran a kernel 78.5 % of the time (3 readings of the whole log); GPU 1 only "
            "60.0 %");
}

TEST_F(CheckInput, WithoutALogOfGpusNothingIsSaidOfTheirUse) {
  EXPECT_NE(check_of("5\n6\n5\n").lines.back().name, "gpu_utilization");
}

TEST_F(CheckInput, StepsWithoutNumbersCountFromZero) {
  const CheckResult c = check_of("5\n6\n5\n");
  ASSERT_EQ(c.times.columns.size(), 3U);
  EXPECT_EQ(c.times.columns[2].last, 2);
  EXPECT_TRUE(c.times.ranks.empty());
  ASSERT_TRUE(c.times.job);
  EXPECT_EQ(c.times.job->max_ns, 6e6);
}

TEST_F(CheckInput, TheJsonOfTrainTellsItsRanks) {
  const CheckResult c = check_of(
      R"({"schema":"stepscope.train/1",)"
      R"("steps":[{"index":4,"wall_ns":30},{"index":5,"wall_ns":31}],)"
      R"("rank_steps":[{"rank":0,"index":4,"wall_ns":29},{"rank":1,"index":4,"wall_ns":30}]})");
  EXPECT_EQ(c.kind, CheckedKind::train);
  EXPECT_EQ(c.times.ranks.size(), 2U);
  EXPECT_EQ(c.times.columns.front().first, 4);
  EXPECT_FALSE(c.facts.arrivals_known);
}

TEST_F(CheckInput, TheVerdictOfTrainNamesTheLateRank) {
  const auto run = [](const std::string& ranks) {
    return R"({"schema":"stepscope.train/1","answer":{"verdict":{"ranks":[)" + ranks +
           R"(],"sentence":"Rank 1 is late."}},"steps":[{"index":4,"wall_ns":30}],"rank_steps":[)"
           R"({"rank":0,"index":4,"wall_ns":30,"budget_ns":{"compute":30}},)"
           R"({"rank":1,"index":4,"wall_ns":30,"budget_ns":{"compute":30}}]})";
  };
  const CheckResult late = check_of(run("1"));
  EXPECT_EQ(say_all(late.late), std::vector<std::string>{"Rank 1 is late"});
  const CheckResult none = check_of(run(""));
  EXPECT_TRUE(none.late.empty());
  EXPECT_TRUE(none.facts.arrivals_known);
  const CheckResult unjudged = check_of(
      R"({"schema":"stepscope.train/1","answer":{"verdict":null,"no_verdict":"Too noisy."},)"
      R"("steps":[{"index":4,"wall_ns":30}],"rank_steps":[]})");
  EXPECT_FALSE(unjudged.facts.arrivals_known);
  EXPECT_EQ(unjudged.facts.why_arrivals_unknown, "Too noisy");
}

using enum BudgetCategory;

// Two ranks of one role that compute `first` and `second` of 100 ms and idle for the rest.
StepFacts facts_with(std::int64_t first, std::int64_t second) {
  StepFacts facts;
  facts.arm.steps = 20;
  facts.arm.median_ns = facts.arm.mean_ns = 100e6;
  facts.arm.n_eff = 20;
  for (const std::int64_t ms : {first, second}) {
    RankFacts& rank = facts.ranks.emplace_back();
    rank.rank = static_cast<int>(facts.ranks.size()) - 1;
    rank.mean.time[static_cast<std::size_t>(compute)] = Ns{ms * 1'000'000};
    rank.mean.time[static_cast<std::size_t>(idle_host)] = Ns{(100 - ms) * 1'000'000};
  }
  return facts;
}

CheckStatus status_of(const std::vector<CheckLine>& lines, const std::string& name) {
  for (const CheckLine& l : lines)
    if (l.name == name) return l.status;
  ADD_FAILURE() << name;
  return CheckStatus::unknown;
}

CheckResult result_of(StepFacts facts) {
  return {.version = "", .input = "", .kind = CheckedKind::trace, .facts = std::move(facts)};
}

TEST(CheckLines, JudgeEachFigureByItsBound) {
  StepFacts facts = facts_with(95, 95);
  facts.mfu = 0.4;
  facts.arrivals_known = true;
  facts.capacity = Bytes{100};
  facts.headroom = Bytes{20};
  const auto good = check_lines(result_of(facts));
  ASSERT_EQ(good.size(), 7U);
  for (const CheckLine& l : good) EXPECT_EQ(l.status, CheckStatus::good) << l.name;
  CheckResult worse = result_of(facts_with(85, 60));
  worse.facts.arm.n_eff = 3;
  worse.facts.mfu = 0.2;
  worse.facts.capacity = Bytes{100};
  worse.facts.headroom = Bytes{5};
  worse.late = {msg::rank_is_late(1, Value())};
  const auto look = check_lines(worse);
  for (const char* name : {"steps", "mfu", "rank_balance", "stragglers", "idle", "headroom"})
    EXPECT_EQ(status_of(look, name), CheckStatus::look) << name;
  EXPECT_EQ(status_of(look, "communication"), CheckStatus::good);
  const std::string steps = say(look.front().sentence);
  EXPECT_TRUE(steps.ends_with(" a comparison finds large changes only")) << steps;
  EXPECT_EQ(say(look[3].sentence), "rank 1 is late");
}

TEST(CheckLines, SayWhatIsNotKnown) {
  CheckResult nothing = result_of({});
  nothing.why_no_mfu = msg::needs_model_flops();
  const auto lines = check_lines(nothing);
  for (const char* name :
       {"mfu", "rank_balance", "stragglers", "communication", "idle", "headroom"})
    EXPECT_EQ(status_of(lines, name), CheckStatus::unknown) << name;
  EXPECT_EQ(say(lines[1].sentence), "not known: needs the model's FLOPs");
}

TEST(RecordNext, AsksForWhatIsMissing) {
  CheckResult of_list = result_of(facts_with(95, 95));
  of_list.kind = CheckedKind::list;
  EXPECT_EQ(record_next(of_list), Messages{msg::next_trace_of_ranks()});
  CheckResult of_train = result_of(facts_with(95, 95));
  of_train.kind = CheckedKind::train;
  of_train.facts.arm.n_eff = 2;
  of_train.facts.arm.correlation_time = 2;
  const auto next = say_all(record_next(of_train));
  ASSERT_EQ(next.size(), 3U);
  EXPECT_EQ(next[0], "more steps: about 16 for one comparison");
  EXPECT_TRUE(next[2].starts_with("the model (--model NAME"));
  of_train.model_given = true;  // then it is not asked for again
  EXPECT_EQ(record_next(of_train).size(), 2U);
}

std::string sentence_of(const CheckResult& c, const std::string& name) {
  for (const CheckLine& l : c.lines)
    if (l.name == name) return say(l.sentence);
  return {};
}

// Three equal steps, as a list and as a log.
std::array<std::string, 2> three_steps_of(const std::string& ms) {
  const std::string line = "step_time_ms=" + ms + '\n';
  return {ms + '\n' + ms + '\n' + ms + '\n', line + line + line};
}

// The chapter's example: GPT-3 175B with a batch of 1,024 on 1,024 A100, a step of 60 s.
CheckRequest gpt3() {
  CheckRequest request;
  request.job.model = "gpt3-175b";
  request.job.global_batch = 1024;
  request.job.sequence = 2048;
  request.job.machine = "a100_sxm_80gb";
  request.job.devices = 1024;
  return request;
}

TEST_F(CheckInput, MfuFollowsFromStepTimeDevicesModelAndPeak) {
  for (const std::string& text : three_steps_of("60000")) {
    const CheckResult c = check_of(text, gpt3());
    ASSERT_TRUE(c.facts.mfu) << sentence_of(c, "mfu");
    EXPECT_NEAR(*c.facts.mfu, 0.115, 0.003);
    EXPECT_FALSE(c.facts.hfu);
    CheckRequest repeated = gpt3();
    repeated.recompute = Recompute::full;
    const CheckResult again = check_of(text, repeated);
    ASSERT_TRUE(again.facts.hfu && again.facts.mfu);
    EXPECT_NEAR(*again.facts.hfu / *again.facts.mfu, 4.0 / 3, 0.02);
  }
}

TEST_F(CheckInput, WhatMfuLacksIsAskedForAndNothingElse) {
  CheckRequest request = gpt3();
  request.job.devices = 0;
  EXPECT_EQ(sentence_of(check_of("60000\n60000\n", request), "mfu"),
            "not known: needs the number of devices: give --gpus N");
}

TEST_F(CheckInput, EqualRanksAreNoStragglers) {
  const CheckResult c = check_of(table_of(8, 0));
  EXPECT_TRUE(sentence_of(c, "stragglers").starts_with("no rank stands out"))
      << sentence_of(c, "stragglers");
}

TEST_F(CheckInput, EveryWayToWriteTheTimesOfRanksNamesTheSlowOne) {
  for (const char* text :
       {"step,rank0,rank1,rank2\n0,100,101,150\n1,99,100,151\n2,100,99,149\n",
        "[[100, 99, 101], [100, 101, 99], [150, 151, 149]]",
        R"({"rank0": [100, 99, 101], "rank1": [100, 101, 99], "rank2": [150, 151, 149]})",
        "\n=== Quick Health Check ===\nRank 0: avg=100.0ms, times=['100.0', '99.0', '101.0']\n"
        "Rank 1: avg=100.0ms, times=['100.0', '101.0', '99.0']\n"
        "Rank 2: avg=150.0ms, times=['150.0', '151.0', '149.0']\n"}) {
    const CheckResult c = check_of(text);
    EXPECT_EQ(c.kind, CheckedKind::list) << text;
    EXPECT_EQ(c.times.ranks.size(), 3U) << text;
    ASSERT_EQ(c.late.size(), 1U) << text;
    EXPECT_TRUE(say(c.late.front()).starts_with("a step of rank 2 takes")) << text;
  }
}

TEST_F(CheckInput, ABracketInTheLineOfARankIsNoListOfTimes) {
  const CheckResult c = check_of("Rank 0: shape [8, 1024]\nstep_time_ms=5\nstep_time_ms=6\n");
  EXPECT_EQ(c.kind, CheckedKind::log);
}

TEST_F(CheckInput, AFileOfEachRankIsOneJob) {
  const std::string folder = path_ + ".lists";
  std::filesystem::create_directory(folder);
  for (int rank = 0; rank < 3; ++rank)
    std::ofstream(folder + "/rank" + std::to_string(rank) + ".csv")
        << "step_time_ms\n"
        << (rank == 1 ? "150\n151\n" : "100\n101\n");
  const CheckResult c = check_of("", {.traces = {.inputs = {folder}}});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(c.times.ranks.size(), 3U);
  ASSERT_EQ(c.late.size(), 1U);
  EXPECT_TRUE(say(c.late.front()).starts_with("a step of rank 1 takes")) << say(c.late.front());
}

// The chapter's example: 7B and a batch of 4 in 180 ms, on one H100.
TEST_F(CheckInput, ThePeakIsOfTheTypeThatTheLogNames) {
  std::string steps;
  for (int n = 1; n <= 12; ++n)
    steps += " iteration " + std::to_string(n) +
             "/ 100 | elapsed time per iteration (ms): " + std::to_string(1500 + n % 3) +
             ".0 | lm-loss: 2.5 |\n";
  CheckRequest request;
  request.job.machine = "v100_sxm2_32gb";
  const std::string half = say(check_of("  fp16 ....... True\n" + steps, request).why_no_mfu);
  EXPECT_EQ(half.find("peak"), std::string::npos) << half;
  const std::string unknown = say(check_of(steps, request).why_no_mfu);
  EXPECT_NE(unknown.find("no peak in bf16: give --peak-tflops"), std::string::npos) << unknown;
}

TEST_F(CheckInput, ALogOfGpusAloneIsNamed) {
  std::ofstream(path_) << "timestamp, index, utilization.gpu [%], power.draw [W]\n"
                          "2024/05/01 10:00:00.000, 0, 95 %, 300.00 W\n";
  const auto alone = check({.traces = {.inputs = {path_}}});
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message().find("is a log of GPUs, and has no step"), std::string::npos);
}

TEST_F(CheckInput, AnMfuAboveThePeakIsRefusedAndNeverOk) {
  for (const std::string& text : three_steps_of("180")) {
    CheckRequest request;
    request.job.model = "llama-2-7b";
    request.job.global_batch = 4;
    request.job.sequence = 2048;
    request.job.machine = "h100_sxm_80gb";
    request.job.devices = 1;
    const CheckResult c = check_of(text, request);
    EXPECT_FALSE(c.facts.mfu);
    EXPECT_EQ(status_of(c.lines, "mfu"), CheckStatus::look);
    EXPECT_TRUE(sentence_of(c, "mfu").starts_with(
        "The model FLOPs cannot be right: they need 1.9 times the peak"))
        << sentence_of(c, "mfu");
    if (c.log) {
      for (const LogRate& rate : c.log->rates.rates) EXPECT_FALSE(rate.mfu);
    }
    // Two devices make it possible; a forward pass more does not.
    request.job.devices = 2;
    EXPECT_TRUE(check_of(text, request).facts.mfu);
    request.recompute = Recompute::full;
    const CheckResult repeated = check_of(text, request);
    EXPECT_FALSE(repeated.facts.mfu);
    EXPECT_TRUE(sentence_of(repeated, "mfu").starts_with("The model FLOPs with recomputation"));
  }
}

TEST_F(CheckInput, MfuNamesItsConvention) {
  for (const std::string& text : three_steps_of("60000")) {
    const CheckResult c = check_of(text, gpt3());
    EXPECT_EQ(c.facts.mfu_convention, "causal attention halved");
    EXPECT_NE(sentence_of(c, "mfu").find("of the peak (causal attention halved; HFU"),
              std::string::npos)
        << sentence_of(c, "mfu");
    ASSERT_GE(c.mfu_conventions.size(), 2U);
    EXPECT_DOUBLE_EQ(c.mfu_conventions[0].mfu, *c.facts.mfu);
    EXPECT_EQ(c.mfu_conventions[1].model.convention, "6N");
    EXPECT_NEAR(c.mfu_conventions[1].mfu, 0.115, 0.001);
    CheckRequest given;
    given.job = {.machine = "a100_sxm_80gb", .model_flops_per_step = 2e18, .devices = 1024};
    EXPECT_EQ(check_of(text, given).facts.mfu_convention, "model FLOPs as given");
  }
}

TEST_F(CheckInput, ATableOfMessagesIsNoListOfSteps) {
  std::ofstream(path_) << "size_bytes,time_s\n1024,0.00002\n65536,0.000026\n";
  const auto c = check({.traces = {.inputs = {path_}}});
  ASSERT_FALSE(c);
  EXPECT_NE(c.error().message().find("stepscope calibrate"), std::string::npos)
      << c.error().message();
}

const CheckLine& line_of(const CheckResult& c, const std::string& name) {
  for (const CheckLine& l : c.lines)
    if (l.name == name) return l;
  ADD_FAILURE() << name;
  return c.lines.front();
}

TEST_F(CheckInput, OneTimeOfEachRankNamesTheSlowOne) {
  const CheckResult c = check_of("rank,time_s\n0,0.967\n1,0.967\n2,0.967\n3,1.234\n");
  EXPECT_EQ(say_all(c.late), std::vector<std::string>{"a step of rank 3 takes 27.6 % longer than "
                                                      "that of the median rank"});
}

TEST_F(CheckInput, TheFirstOfThreeStepsMayBeCold) {
  const CheckResult c = check_of("step_time_ms\n1100\n100\n100\n");
  EXPECT_EQ(c.facts.arm.steps, 2U);
  EXPECT_NE(say(line_of(c, "steps").sentence)
                .find("; the first step takes 11.0 times as long: left out as warm-up"),
            std::string::npos)
      << say(line_of(c, "steps").sentence);
}

// 2.2 exaFLOP in 60 s on 1,024 devices of 312 TFLOP/s, and a third of it again.
TEST_F(CheckInput, HfuOfGivenFlopsCountsTheRepeatedForwardPass) {
  CheckRequest r{.reading = TimeUnit::s, .recompute = Recompute::full};
  r.job.model_flops_per_step = 2.2020096e18;
  r.job.peak_tflops = 312;
  r.job.devices = 1024;
  const CheckResult full = check_of("60\n60\n60\n", r);
  ASSERT_TRUE(full.facts.mfu && full.facts.hfu);
  EXPECT_NEAR(*full.facts.mfu, 0.11487, 1e-4);
  EXPECT_NEAR(*full.facts.hfu / *full.facts.mfu, 8.0 / 6, 1e-9);
  r.recompute = Recompute::selective;
  const CheckResult selective = check_of("60\n60\n60\n", r);
  EXPECT_FALSE(selective.facts.hfu);
  EXPECT_NE(say(line_of(selective, "mfu").sentence).find("HFU is not known"), std::string::npos);
}

TEST_F(CheckInput, TheListOfChecksSaysOfRanksWhatTheHeadSays) {
  CheckRequest r;
  r.list = true;
  const CheckResult c = check_of(table_of(4, 0), r);
  for (const Checklist& list : c.checklists)
    if (list.name == "stragglers") {
      EXPECT_EQ(list.lines.front().evidence, line_of(c, "stragglers").sentence);
    }
}

TEST_F(CheckInput, ThePhaseThatTakesMostIsNamed) {
  const CheckResult c = check_of(
      "rank,step,phase,time_ms\n0,0,forward,40\n0,0,backward,80\n0,0,allreduce,160\n"
      "0,0,optimizer,10\n0,0,data_loading,10\n0,1,forward,42\n0,1,backward,82\n"
      "0,1,allreduce,164\n0,1,optimizer,10\n0,1,data_loading,10\n");
  ASSERT_TRUE(c.phases);
  EXPECT_EQ(c.phases->rows.front().name, "allreduce");
  EXPECT_NEAR(c.phases->rows.front().share, 162.0 / 304, 1e-9);
  EXPECT_NEAR(*c.phases->rows.front().stdev_ns, std::sqrt(8.0) * 1e6, 1);
  EXPECT_FALSE(c.phases->overlap);
  EXPECT_EQ(say(line_of(c, "phases").sentence),
            "allreduce takes most: 162 ms a step, 53.3 % of the sum of the phases; communication "
            "takes 1.33 times as long as forward and backward");
  EXPECT_FALSE(check_of("5\n6\n").phases);
}

TEST_F(CheckInput, OverlapFollowsFromThreeTimes) {
  const CheckResult c = check_of("compute_ms,comm_ms,step_ms\n15,20,24\n");
  EXPECT_NEAR(*line_of(c, "overlap").value, 11.0 / 15, 1e-9);
  EXPECT_EQ(
      say(line_of(c, "overlap").sentence),
      "73.3 % of the possible overlap: 15.0 ms of computation and 20.0 ms of communication in "
      "a step of 24.0 ms; without overlap 35.0 ms, with perfect overlap 20.0 ms. Idle time "
      "counts against it");
  const CheckResult none = check_of("compute_ms,comm_ms,step_ms\n15,20,36\n");
  EXPECT_EQ(*line_of(none, "overlap").value, 0);
  const CheckResult wrong = check_of("compute_ms,comm_ms,step_ms\n15,20,19\n");
  EXPECT_EQ(line_of(wrong, "overlap").status, CheckStatus::unknown);
}

TEST_F(CheckInput, ALogMayBeginWithADict) {
  std::string text;
  for (int i = 1; i < 5; ++i)
    text += "{'loss': 1.2" + std::to_string(i) + ", 'learning_rate': 2e-05, 'epoch': 0.01}\n  " +
            std::to_string(i) + "%|  | " + std::to_string(i) + "/100 [00:0" +
            std::to_string(2 * i) + "<04:00,  2.50s/it]\n";
  const CheckResult c = check_of(text);
  EXPECT_EQ(c.kind, CheckedKind::log);
  EXPECT_DOUBLE_EQ(c.facts.arm.median_ns, 2e9);
}

TEST_F(CheckInput, ALogMayBeginWithAJsonObject) {
  std::string text = "{\"event\": \"start\"}\n";
  for (int i = 1; i < 5; ++i)
    text += "{\"step\": " + std::to_string(i) + ", \"step_time_ms\": 12.5}\n";
  EXPECT_DOUBLE_EQ(check_of(text).facts.arm.median_ns, 12.5e6);
}

TEST_F(CheckInput, ALossThatIsNoNumberIsSaidFirst) {
  std::string text;
  for (int i = 3; i < 9; ++i)
    text += "iter " + std::to_string(i) + ": loss " + (i < 5 ? "2.5" : "nan") +
            ", time 135.12ms, mfu 17.51%\n";
  const CheckResult c = check_of(text);
  ASSERT_EQ(c.lead.size(), 1U);
  EXPECT_EQ(say_stopped(c.lead.front()),
            "The loss is no finite number in 4 steps, first in step 5.");
}

TEST_F(CheckInput, RatesBecomeStepsByTheBatch) {
  std::string text;
  for (int i = 1; i < 9; ++i)
    text +=
        "Step " + std::to_string(i) + " | loss:1.4 lr:2e-05 tokens_per_second_per_gpu:5000.0 \n";
  const CheckResult rates = check_of(text);
  EXPECT_TRUE(rates.log->steps.of_tokens);
  EXPECT_EQ(rates.log->account.median_ns, 0);
  EXPECT_NE(say(rates.lines.front().sentence).find("for a token of a device ("), std::string::npos)
      << say(rates.lines.front().sentence);
  CheckRequest request;
  request.job.global_batch = 32;
  request.job.sequence = 2500;
  request.job.devices = 8;
  const CheckResult steps = check_of(text, request);
  EXPECT_FALSE(steps.log->steps.of_tokens);
  EXPECT_DOUBLE_EQ(steps.facts.arm.median_ns, 2e9);
}

TEST_F(CheckInput, APatternReadsAnUnknownLog) {
  std::string text;
  for (int i = 1; i < 9; ++i)
    text += "batch " + std::to_string(i) + " needed " + (i % 2 ? "40.5" : "41.5") + " msec\n";
  CheckRequest request;
  request.traces.inputs = {path_};
  std::ofstream(path_) << text;
  const auto refused = check(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("--log-pattern 'batch {step} needed {ms} msec'"),
            std::string::npos)
      << refused.error().message();
  request.reading.pattern = "batch {step} needed {ms} msec";
  EXPECT_DOUBLE_EQ(check_of(text, request).facts.arm.median_ns, 41e6);
}

}  // namespace

}  // namespace stepscope
