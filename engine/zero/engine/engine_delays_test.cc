// SPDX-License-Identifier: Apache-2.0
// Ranks with random delays at every call, kernel and collective end with the same bits as ranks
// without delays.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/measured/jitter_test_communicator.h"
#include "engine/zero/engine/engine_test_delays.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

// Runs once without and once with delays. Returns the number of delayed calls of kernels and
// collectives.
std::int64_t compare_delayed(const TestRun& run, std::uint64_t seed, std::int64_t& differ) {
  const TestOutcome reference = train_threads(run);
  expect_no_errors(reference);
  std::vector<std::unique_ptr<RandomDelays>> delays;
  for (int rank = 0; rank < run.ranks; ++rank) {
    delays.push_back(std::make_unique<RandomDelays>(seed, rank, std::chrono::microseconds(100)));
  }
  TestRun late = run;
  late.wrap = [seed](std::unique_ptr<Communicator> comm) {
    return jitter(std::move(comm), seed, std::chrono::microseconds(200));
  };
  late.before_step = [&delays](TestRank& rank, int) {
    rank.engine.observe(delays[static_cast<std::size_t>(rank.rank)].get());
  };
  const TestOutcome outcome = train_threads(late);
  expect_no_errors(outcome);
  const std::int64_t here = differences(outcome.state, reference.state);
  EXPECT_EQ(here, 0) << "stage " << run.engine.stage << ", seed " << seed;
  for (const auto& steps : outcome.steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].loss, reference.steps[0][i].loss);
      EXPECT_EQ(steps[i].gradient_norm, reference.steps[0][i].gradient_norm);
    }
  }
  differ += here;
  std::int64_t calls = 0;
  for (const auto& one : delays) calls += one->calls();
  return calls;
}

TEST(EngineDelays, NoBitDependsOnWhenThingsHappen) {
  int runs = 0;
  std::int64_t calls = 0;
  std::int64_t differ = 0;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int ranks : {2, 4}) {
      const auto seed = static_cast<std::uint64_t>(stage + 10 * ranks);
      TestRun run{.ranks = ranks, .steps = 2, .uneven = true};
      run.engine.stage = stage;
      run.engine.bucket_bytes = {std::int64_t{37} * 40 * ranks};
      run.engine.prefetch_distance = ranks / 2;
      run.engine.micro_batches = ranks == 2 ? 2 : 1;
      run.engine.recompute = {.kind = ranks == 2 ? nn::Recompute::none : nn::Recompute::full};
      run.engine.type = ranks == 2 ? ElementType::f32 : ElementType::bf16;
      calls += compare_delayed(run, seed, differ);
      ++runs;
    }
  }
  std::printf("random delays: %d runs, %lld delayed kernels and collectives, %lld differences\n",
              runs, static_cast<long long>(calls), static_cast<long long>(differ));
  EXPECT_GT(calls, 1000);
}

}  // namespace
}  // namespace stepscope::zero
