// SPDX-License-Identifier: Apache-2.0
// An engine's state in and out, evaluation, and values that are not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

TEST(EngineState, TrainingGoesOnFromItBitForBitAtAnyStage) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    TestRun run{.ranks = 3, .steps = 4};
    run.engine.type = type;
    const TestOutcome whole = train_threads(run);
    run.steps = 2;
    const TestOutcome half = train_threads(run);
    for (int stage = 0; stage <= 3; ++stage) {
      TestRun rest = run;
      rest.engine.stage = stage;
      rest.engine.seed = 99;  // different initial values: all values must come from the state
      rest.before_step = [&](TestRank& rank, int step) {
        if (step == 0) load(rank, half.state, {.seed = 5, .step = 2, .updates = 2});
      };
      const TestOutcome resumed = train_threads(rest);
      expect_no_errors(resumed);
      EXPECT_EQ(differences(resumed.state, whole.state), 0)
          << "stage " << stage << " " << element_name(type);
    }
  }
}

TEST(EngineState, GathersWholeUnitsOnEveryRank) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
      TestRun run{.ranks = 3, .steps = 1};
      run.engine.stage = stage;
      run.engine.type = type;
      std::vector<std::vector<std::vector<float>>> masters(3);
      std::vector<std::int64_t> wrong(3);
      run.at_end = [&](TestRank& rank) {
        auto& mine = masters[static_cast<std::size_t>(rank.rank)];
        for (std::size_t u = 0; u < rank.engine.plan().units.size(); ++u) {
          auto& unit =
              mine.emplace_back(static_cast<std::size_t>(rank.engine.plan().units[u].count));
          ASSERT_TRUE(rank.engine.gather_master(u, unit));
          const auto compare = [&](std::span<const std::byte> bytes) {
            for (std::size_t i = 0; i < unit.size(); ++i) {
              const float value = type == ElementType::f32
                                      ? reinterpret_cast<const float*>(bytes.data())[i]
                                      : to_float(reinterpret_cast<const Bf16*>(bytes.data())[i]);
              const float wanted = type == ElementType::f32 ? unit[i] : to_float(to_bf16(unit[i]));
              wrong[static_cast<std::size_t>(rank.rank)] += value == wanted ? 0 : 1;
            }
          };
          ASSERT_TRUE(rank.engine.with_parameters(u, compare));
        }
      };
      const TestOutcome outcome = train_threads(run);
      expect_no_errors(outcome);
      for (const auto& of_rank : masters) EXPECT_EQ(of_rank, outcome.state.master) << stage;
      EXPECT_EQ(wrong, std::vector<std::int64_t>(3)) << "stage " << stage;
    }
  }
}

TEST(EngineState, EvaluatesTheLossOfAllRanksAtEveryStageAlike) {
  std::vector<double> losses;
  for (int stage = 0; stage <= 3; ++stage) {
    TestRun run{.ranks = 2, .steps = 2};
    run.engine.stage = stage;
    std::vector<double> of_rank(2);
    run.at_end = [&](TestRank& rank) {
      std::vector<std::int32_t> inputs(8, rank.rank);
      std::vector<std::int32_t> targets(8, 3);
      if (rank.rank == 1) std::fill(targets.begin() + 2, targets.end(), -1);
      const nn::MicroBatch batch{.batch = 1, .tokens = 8, .inputs = inputs, .targets = targets};
      const std::vector<nn::MicroBatch> batches(2, batch);
      auto loss = rank.engine.evaluate(batches);
      ASSERT_TRUE(loss) << loss.error().message();
      of_rank[static_cast<std::size_t>(rank.rank)] = *loss;
    };
    const TestOutcome outcome = train_threads(run);
    expect_no_errors(outcome);
    EXPECT_EQ(of_rank[0], of_rank[1]);
    losses.push_back(of_rank[0]);
  }
  for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
  EXPECT_GT(losses[0], 1.0);
}

// ---- not finite -----------------------------------------------------------------------------

// Puts a value into the middle of a unit's master weights before step 1. Returns the message.
std::vector<std::string> poison(TestRun run, std::size_t unit, float value) {
  std::vector<std::string> where(static_cast<std::size_t>(run.ranks));
  run.before_step = [unit, value](TestRank& rank, int step) {
    if (step != 1) return;
    auto state = rank.engine.state();
    ASSERT_TRUE(state);
    const std::int64_t at = rank.engine.plan().units[unit].count / 2;
    for (const StateExtent& extent : state->extents) {
      const std::int64_t here = at - extent.first;
      if (extent.unit == unit && here >= 0 &&
          here < static_cast<std::int64_t>(extent.master.size())) {
        extent.master[static_cast<std::size_t>(here)] = value;
      }
    }
    ASSERT_TRUE(rank.engine.state_loaded(rank.engine.cursor()));
  };
  run.at_end = [&](TestRank& rank) {
    where[static_cast<std::size_t>(rank.rank)] = rank.engine.last_non_finite().where;
    EXPECT_EQ(rank.engine.last_non_finite().step, 1);
    EXPECT_EQ(rank.engine.cursor().updates, 1);
    EXPECT_EQ(rank.engine.cursor().step, 2);
  };
  const TestOutcome outcome = train_threads(run);
  for (std::size_t r = 0; r < where.size(); ++r) {
    if (!outcome.errors[r].empty()) {
      where[r] = outcome.errors[r];
    } else {
      EXPECT_TRUE(outcome.steps[r].back().skipped);
    }
  }
  return where;
}

TEST(NonFinite, NamesTheUnitWhoseParametersAreNotAndSkipsOnAllRanks) {
  for (int stage = 0; stage <= 3; ++stage) {
    TestRun run{.ranks = 3, .steps = 2};
    run.engine.stage = stage;
    const auto where = poison(run, 2, std::numeric_limits<float>::quiet_NaN());
    for (const std::string& text : where) EXPECT_EQ(text, "parameters of block 1") << stage;
  }
}

TEST(NonFinite, NamesThePassThatOverflowedFirst) {
  for (int stage = 0; stage <= 3; ++stage) {
    TestRun run{.ranks = 2, .steps = 2};
    run.engine.stage = stage;
    // A finite weight in the feed-forward part of block 0 that is large enough to overflow later.
    const auto where = poison(run, 1, 3e38F);
    EXPECT_EQ(where[0], where[1]);
    EXPECT_NE(where[0].find("block 0, forward, micro-batch 0 of rank"), std::string::npos)
        << where[0];
  }
}

TEST(NonFinite, StopsOnAllRanksWhereThatIsWanted) {
  TestRun run{.ranks = 3, .steps = 2};
  run.engine.stage = 3;
  run.engine.non_finite = NonFinite::stop;
  const auto where = poison(run, 0, std::numeric_limits<float>::infinity());
  for (const std::string& text : where) {
    EXPECT_NE(text.find("step 1: values that are not finite: parameters of embed_head"),
              std::string::npos)
        << text;
  }
}

TEST(NonFinite, ASkippedStepLeavesTheStateAsItWas) {
  TestRun run{.ranks = 2, .steps = 2};
  run.engine.stage = 1;
  const TestOutcome one = train_threads({.engine = run.engine, .ranks = 2, .steps = 1});
  float kept = 0;
  run.before_step = [&](TestRank& rank, int step) {
    if (step != 1) return;
    auto state = rank.engine.state();
    ASSERT_TRUE(state);
    if (rank.rank == 0) {
      kept = state->extents[0].master[0];
      state->extents[0].master[0] = std::numeric_limits<float>::infinity();
    }
    ASSERT_TRUE(rank.engine.state_loaded(rank.engine.cursor()));
  };
  TestOutcome outcome = train_threads(run);
  expect_no_errors(outcome);
  EXPECT_TRUE(outcome.steps[0][1].skipped);
  EXPECT_TRUE(outcome.steps[1][1].skipped);
  outcome.state.master[0][0] = kept;
  EXPECT_EQ(differences(outcome.state, one.state), 0);
}

TEST(Engine, RefusesAStepWithoutTargets) {
  TestRun run{.ranks = 2, .steps = 0};
  std::vector<std::string> said(2);
  run.at_end = [&](TestRank& rank) {
    const std::vector<std::int32_t> inputs(8, 1);
    const std::vector<std::int32_t> targets(8, -1);
    const nn::MicroBatch batch{.batch = 1, .tokens = 8, .inputs = inputs, .targets = targets};
    auto result = rank.engine.step({&batch, 1});
    ASSERT_FALSE(result);
    said[static_cast<std::size_t>(rank.rank)] = result.error().message();
  };
  const TestOutcome outcome = train_threads(run);
  for (const std::string& text : said)
    EXPECT_NE(text.find("no token with a target"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
