// SPDX-License-Identifier: Apache-2.0
// Rows written by hand: what train says of them, and what analyze says of the trace that is made of
// them.
#include "engine/train/train_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/zero/drive/disk_test_files.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/write/chrome_trace.h"

namespace stepscope {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Steps of two ranks: data loading, four products of 20 ms, and an all-reduce of 1 ms after the
// later rank has come. `data` gives the time of loading in µs.
std::vector<RankRows> job_of(int steps, const std::function<std::int64_t(int rank)>& data) {
  std::vector<RankRows> ranks(2);
  for (int r = 0; r < 2; ++r)
    ranks[static_cast<std::size_t>(r)].options = {.rank = r,
                                                  .world = 2,
                                                  .transport = "shm",
                                                  .host = "here",
                                                  .unix_offset = Ns{1'700'000'000'000 * ms}};
  Ns begin{5 * ms};
  for (int s = 0; s < steps; ++s) {
    std::array<Ns, 2> submitted{};
    for (std::size_t r = 0; r < 2; ++r) {
      zero::RecordedRows& rows = ranks[r].rows;
      const Ns loaded = begin + Ns{data(static_cast<int>(r)) * ms / 1000};
      rows.activities.push_back({Activity::data, Activity::data, begin, loaded});
      Ns at = loaded;
      for (int op = 0; op < 4; ++op, at += Ns{20 * ms})
        rows.operations.push_back({{.op = nn::LeafOp::linear}, at, at + Ns{20 * ms - ms / 100}});
      rows.activities.push_back({Activity::forward, Activity::forward, loaded, at});
      submitted[r] = at;
    }
    const Ns end = std::max(submitted[0], submitted[1]) + Ns{ms};
    for (std::size_t r = 0; r < 2; ++r) {
      zero::RecordedRows& rows = ranks[r].rows;
      rows.activities.push_back({Activity::wait_reduce, Activity::forward, submitted[r], end});
      rows.messages.push_back({.record = {.kind = CollectiveKind::all_reduce,
                                          .sequence = static_cast<std::uint64_t>(s),
                                          .bytes = Bytes{4096},
                                          .submitted = submitted[r],
                                          .last_arrival = end - Ns{ms},
                                          .finished = end},
                               .what = zero::ShortName<40>("block 0 gradients"),
                               .in_elements = 1024,
                               .out_elements = 1024});
      StepRecord step;
      step.index = s;
      step.begin = begin;
      step.end = end;
      rows.steps.push_back(step);
    }
    begin = end;
  }
  return ranks;
}

std::int64_t slow_loader(int rank) { return rank == 1 ? 25'100 : 100; }

class TrainVerdictTest : public zero::DiskTest {};

TEST_F(TrainVerdictTest, IsThatOfAnalyzeForTheSameRows) {
  const std::vector<RankRows> ranks = job_of(6, slow_loader);
  const TrainVerdict verdict = verdict_of(ranks, -1);
  ASSERT_EQ(verdict.culprits.size(), 1U) << say(verdict.why_none);
  const Culprit& of_train = verdict.culprits.front();
  EXPECT_EQ(of_train.kind, CulpritKind::data_loader);
  EXPECT_EQ(of_train.ranks, std::vector{1});
  EXPECT_EQ(of_train.gain, Ns{25 * ms});
  EXPECT_EQ(
      say_stopped(of_train.sentence),
      "The data loader of rank 1 takes 25.0 ms a step longer than its peers': this costs 25.0 "
      "ms (23.6 %) of each step of 106 ms.");
  EXPECT_EQ(verdict.first_step, 0);
  EXPECT_EQ(verdict.last_step, 5);

  AnalyzeRequest request;
  for (const RankRows& r : ranks) {
    const Trace trace = zero::make_trace(r.options, r.rows);
    const RankToWrite rank{.rank = r.options.rank, .trace = &trace};
    request.traces.inputs.push_back(write("rank_" + std::to_string(r.options.rank) + ".json", ""));
    ASSERT_TRUE(write_chrome_trace(std::span(&rank, 1), request.traces.inputs.back()));
  }
  const auto analyzed = analyze(request);
  ASSERT_TRUE(analyzed) << analyzed.error().message();
  ASSERT_FALSE(analyzed->analysis.answer.culprits.empty());
  const Culprit& of_analyze = analyzed->analysis.answer.culprits.front();
  EXPECT_EQ(say(of_analyze.sentence), say(of_train.sentence));
  EXPECT_EQ(of_analyze.gain, of_train.gain);
  EXPECT_EQ(say(analyzed->analysis.answer.sentence), say(of_train.sentence));
}

TEST_F(TrainVerdictTest, EqualRanksAreNotAccused) {
  const TrainVerdict verdict = verdict_of(job_of(6, [](int) { return 100; }), -1);
  ASSERT_FALSE(verdict.culprits.empty());
  EXPECT_FALSE(is_fault(verdict.culprits.front().kind));
}

// The first step's loader takes 1 s; of the steps after it, that of rank 1 takes 25 ms longer.
TEST_F(TrainVerdictTest, TheFirstStepOfTheRunIsLeftOut) {
  std::vector<RankRows> ranks = job_of(6, slow_loader);
  for (RankRows& r : ranks) {
    r.rows.steps.front().begin -= Ns{1000 * ms};
    r.rows.activities.front().begin -= Ns{1000 * ms};
  }
  const TrainVerdict verdict = verdict_of(ranks, 0);
  EXPECT_EQ(verdict.first_step, 1);
  EXPECT_EQ(verdict.last_step, 5);
  ASSERT_FALSE(verdict.culprits.empty()) << say(verdict.why_none);
  EXPECT_EQ(
      say_stopped(verdict.culprits.front().sentence),
      "The data loader of rank 1 takes 25.0 ms a step longer than its peers': this costs 25.0 "
      "ms (23.6 %) of each step of 106 ms.");
  // Steps of a run that went on at step 4: none of them is its first.
  EXPECT_EQ(verdict_of(ranks, 4).first_step, 0);
}

TEST_F(TrainVerdictTest, SaysWhyThereIsNone) {
  const Message few = msg::fewer_than_three_steps();
  EXPECT_EQ(verdict_of(job_of(2, slow_loader), -1).why_none, few);
  EXPECT_EQ(verdict_of(job_of(0, slow_loader), -1).why_none, few);
  EXPECT_EQ(verdict_of(job_of(3, slow_loader), 0).why_none, few);
  std::vector<RankRows> full = job_of(6, slow_loader);
  full[1].rows.left_out = 1;
  EXPECT_EQ(verdict_of(full, -1).why_none, msg::rows_beyond_recorder());
}

}  // namespace
}  // namespace stepscope
