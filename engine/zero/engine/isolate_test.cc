// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/isolate.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/comm/measured/counting_communicator.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

constexpr IsolateConfig measured{.rounds = 2, .steps = 2};
// Steps with communication: each way but `compute`, with a warm-up step, and the recorded one.
constexpr std::int64_t communicating = 2 * measured.rounds * (measured.steps + 1) + 1;

void check_rank(TestRank& rank, CommCounters& counters) {
  const EngineConfig& config = rank.engine.config();
  EXPECT_TRUE(rank.engine.state());  // waits for the last step's messages
  counters = {};
  const std::vector<std::int32_t> tokens(static_cast<std::size_t>(config.tokens), 3 + rank.rank);
  const std::vector<nn::MicroBatch> step(
      static_cast<std::size_t>(config.micro_batches),
      {.batch = 1, .tokens = config.tokens, .inputs = tokens, .targets = tokens});
  const auto times =
      isolate(rank.engine, dynamic_cast<Isolation&>(rank.comm), rank.recorder, step, measured);
  ASSERT_TRUE(times) << times.error().message();
  for (const auto& ns : {times->both, times->compute, times->communication, times->exposed}) {
    ASSERT_EQ(ns.size(), static_cast<std::size_t>(measured.rounds * measured.steps));
    for (const Ns t : ns) EXPECT_GE(t, Ns{});
  }
  for (std::size_t i = 0; i < times->both.size(); ++i) {
    EXPECT_GE(times->both[i], times->exposed[i]);
    EXPECT_GT(times->compute[i], Ns{});
    EXPECT_GT(times->communication[i], Ns{});
  }
  for (const auto kind :
       {CollectiveKind::reduce_scatter, CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
    const PlannedCalls planned = planned_calls(rank.engine.plan(), kind);
    // Loss, exponents and squares are also summed.
    const std::int64_t small = kind == CollectiveKind::all_reduce ? 3 : 0;
    EXPECT_EQ(static_cast<std::int64_t>(counters[kind].calls),
              communicating * (planned.calls + small));
    if (kind == CollectiveKind::all_reduce) continue;
    EXPECT_EQ(counters[kind].payload.value * rank.comm.size(),
              communicating * planned.payload.value);
  }
}

// At every stage, with several micro-batches, and with buckets that units do not fill.
TEST(Isolate, CommunicationAloneIsThatOfTheSameStepAndComputationAloneHasNone) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int micro_batches : {1, 2}) {
      std::vector<CommCounters> counters(2);
      TestRun run{.ranks = 2, .steps = 2};
      run.engine.stage = stage;
      run.engine.micro_batches = micro_batches;
      run.engine.bucket_bytes = {800};
      run.wrap = [&](std::unique_ptr<Communicator> comm) -> std::unique_ptr<Communicator> {
        CommCounters& own = counters[static_cast<std::size_t>(comm->rank())];
        return std::make_unique<Isolation>(counting(std::move(comm), own));
      };
      run.at_end = [&](TestRank& rank) {
        check_rank(rank, counters[static_cast<std::size_t>(rank.rank)]);
      };
      expect_no_errors(train_threads(run));
    }
  }
}

}  // namespace
}  // namespace stepscope::zero
