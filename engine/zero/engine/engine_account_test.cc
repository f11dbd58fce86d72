// SPDX-License-Identifier: Apache-2.0
// Compares an engine's own account with its plan: collectives, memory, time.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/comm/measured/forwarding.h"
#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

// Collectives of one kind and purpose in a window.
CollectiveTotals totals_of(const RankWindow& window, CollectiveKind kind,
                           CollectivePurpose purpose) {
  for (const CollectiveTotals& totals : window.collectives) {
    if (totals.kind == kind && totals.purpose == purpose) return totals;
  }
  return {};
}

TEST(EngineAccount, AsksForTheCollectivesThatWerePlanned) {
  int cases = 0;
  for (const int ranks : {1, 2, 3, 5}) {
    for (int stage = 0; stage <= 3; ++stage) {
      for (const std::int64_t bucket : {37 * 4 * ranks, 1 << 20}) {
        for (const int depth : {0, 1, 3}) {
          TestRun run{.ranks = ranks, .steps = 2};
          run.engine.stage = stage;
          run.engine.bucket_bytes = {bucket};
          run.engine.prefetch_distance = depth;
          run.engine.micro_batches = 2;
          run.at_end = [&](TestRank& rank) {
            EXPECT_TRUE(rank.engine.settle());
            const RankWindow window = rank.recorder.take_window();
            const auto compare = [&](CollectiveKind kind, CollectivePurpose purpose) {
              const PlannedCalls planned = planned_calls(rank.engine.plan(), kind);
              const CollectiveTotals got = totals_of(window, kind, purpose);
              EXPECT_EQ(static_cast<std::int64_t>(got.calls), 2 * planned.calls);
              EXPECT_EQ(got.bytes, planned.payload * 2);
              EXPECT_EQ(got.padding, planned.padding * 2);
            };
            compare(CollectiveKind::all_reduce, CollectivePurpose::gradients);
            compare(CollectiveKind::reduce_scatter, CollectivePurpose::gradients);
            compare(CollectiveKind::all_gather, CollectivePurpose::parameters);
          };
          expect_no_errors(train_threads(run));
          ++cases;
        }
      }
    }
  }
  EXPECT_EQ(cases, 4 * 4 * 2 * 3);
}

TEST(EngineAccount, MemoryIsWhatWasPlanned) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int depth : {0, 1, 100}) {
      for (const auto policy :
           {Accumulation::reduce_each_microstep, Accumulation::accumulate_then_reduce}) {
        TestRun run{.ranks = 3, .steps = 2};
        run.engine.stage = stage;
        run.engine.prefetch_distance = depth;
        run.engine.micro_batches = 2;
        run.engine.accumulation = policy;
        run.engine.type = depth == 1 ? ElementType::bf16 : ElementType::f32;
        run.engine.buckets = depth == 0 ? 2 : 4;
        if (depth == 0) run.engine.bucket_bytes = {3000};
        run.at_end = [&](TestRank& rank) {
          const ArenaMemory measured = rank.engine.measured_memory();
          for (std::size_t c = 0; c < arena_class_count; ++c) {
            EXPECT_EQ(measured[c].bytes, rank.engine.plan().memory[c].bytes)
                << arena_class_names[c] << ", stage " << stage << ", depth " << depth;
          }
        };
        expect_no_errors(train_threads(run));
      }
    }
  }
}

// A model of some MB: resident memory equals the plan to 1 %, in buckets of their usual size.
TEST(EngineAccount, TheSystemGaveTheMemoryThatWasPlanned) {
  for (const int stage : {0, 1, 2, 3}) {
    TestRun run{.ranks = 2, .steps = 2};
    run.engine.stage = stage;
    run.engine.type = stage % 2 == 0 ? ElementType::bf16 : ElementType::f32;
    run.engine.network.channels = 128;
    run.engine.network.hidden = 512;
    run.engine.network.vocab = run.engine.network.padded_vocab = 512;
    run.engine.network.context = 32;
    run.engine.tokens = 32;
    run.at_end = [&](TestRank& rank) {
      const auto resident = rank.engine.resident_memory();
      Bytes all{};
      for (const Bytes bytes : resident) all += bytes;
      const auto planned = static_cast<double>(rank.engine.plan().total().value);
      EXPECT_NEAR(static_cast<double>(all.value), planned, 0.01 * planned) << stage;
      if (rank.rank == 0) {
        std::printf("stage %d: planned %.0f bytes, resident %lld, %+.2f %%\n", stage, planned,
                    static_cast<long long>(all.value),
                    100 * (static_cast<double>(all.value) / planned - 1));
      }
    };
    expect_no_errors(train_threads(run));
  }
}

// Counts collectives that, on the recorder's clock, were submitted before the step began or ended
// after the wait for them.
class OutOfOrder final : public EngineObserver {
 public:
  explicit OutOfOrder(const RankRecorder& recorder) : recorder_(recorder) {}

  void collective(const CollectiveRecord& record, std::string_view /*what*/,
                  std::int64_t /*in_elements*/, std::int64_t /*out_elements*/,
                  ElementType /*type*/) noexcept override {
    ++collectives;
    if (record.submitted < step_ || record.finished > recorder_.now()) ++out_of_order;
  }
  void step_begin(std::int64_t /*step*/) noexcept override { step_ = recorder_.now(); }
  void step_end() noexcept override {}
  void begin(const nn::OpCall& /*call*/) noexcept override {}
  void end() noexcept override {}
  void range_begin(std::string_view /*name*/, Activity /*activity*/) noexcept override {}
  void range_end() noexcept override {}

  std::int64_t collectives = 0;
  std::int64_t out_of_order = 0;

 private:
  const RankRecorder& recorder_;
  Ns step_{};
};

// The main thread's activity during a collective is known only if one clock times both. If one
// clock is some µs behind, the collective ends during the thread's next activity.
TEST(EngineAccount, CollectivesAndTheMainThreadAreTimedByOneClock) {
  TestRun run{.ranks = 3, .steps = 10};
  run.engine.stage = 3;
  std::vector<std::unique_ptr<OutOfOrder>> seen(3);
  run.before_step = [&](TestRank& rank, int step) {
    EXPECT_FALSE(rank.recorder.uses_counter());
    auto& own = seen[static_cast<std::size_t>(rank.rank)];
    if (step == 0) own = std::make_unique<OutOfOrder>(rank.recorder);
    rank.engine.observe(own.get());
  };
  run.at_end = [&](TestRank& rank) {
    rank.engine.observe(nullptr);
    const OutOfOrder& own = *seen[static_cast<std::size_t>(rank.rank)];
    EXPECT_GT(own.collectives, 100);
    EXPECT_EQ(own.out_of_order, 0);
  };
  expect_no_errors(train_threads(run));
}

// A forward and a backward pass of each micro-batch, an optimizer pass of each step. Evaluation is
// no pass of training.
TEST(EngineAccount, EveryPassOfAMicroBatchIsCounted) {
  for (int stage = 0; stage <= 3; ++stage) {
    TestRun run{.ranks = 3, .steps = 4};
    run.engine.micro_batches = 2;
    run.engine.stage = stage;
    run.engine.recompute = {.kind = stage % 2 == 0 ? nn::Recompute::none : nn::Recompute::full};
    run.at_end = [&](TestRank& rank) {
      const RankWindow window = rank.recorder.take_window();
      Ns passes{};
      for (const TrainingPass pass : {TrainingPass::forward, TrainingPass::backward}) {
        const PassTotals& totals = window.totals.passes[slot(pass)];
        EXPECT_EQ(totals.time.count, 8U) << stage;
        EXPECT_EQ(totals.items, window.totals.tokens);
        EXPECT_EQ(window.pass_times[slot(pass)].count(), 8U);
        EXPECT_GT(totals.time.min, Ns{0});
        passes += totals.time.total;
      }
      // A run of a layer is all its work in a pass: the tied embedding and head run twice in
      // backward, and recomputation is separate from it.
      const bool recomputes = stage % 2 == 1;
      for (const LayerTotals& layer : window.layers) {
        const bool block = layer.name.starts_with("block");
        EXPECT_EQ(layer.forward.count, 8U) << layer.name;
        EXPECT_EQ(layer.backward.count, 8U) << layer.name;
        EXPECT_EQ(layer.recompute.count, block && recomputes ? 8U : 0U) << layer.name;
      }
      const PassTotals& updates = window.totals.passes[slot(TrainingPass::optimizer)];
      EXPECT_EQ(updates.time.count, 4U);
      passes += updates.time.total;
      EXPECT_LE(passes, window.totals.wall);
      // They hold what the main thread computed in them.
      EXPECT_GE(passes, window.totals.activity[slot(Activity::forward)] +
                            window.totals.activity[slot(Activity::backward)] +
                            window.totals.activity[slot(Activity::recompute)]);
    };
    expect_no_errors(train_threads(run));
  }
}

TEST(EngineAccount, TheTimesOfAStepSumToItsWallTime) {
  TestRun run{.ranks = 2, .steps = 3};
  run.engine.stage = 3;
  run.engine.recompute = {.kind = nn::Recompute::full};
  run.at_end = [&](TestRank& rank) {
    const RankWindow window = rank.recorder.take_window();
    ASSERT_EQ(window.steps.size(), 3U);
    for (const StepRecord& step : window.steps) {
      EXPECT_EQ(sum(step.activity), step.end - step.begin);
      EXPECT_EQ(step.tokens, 8);
      for (const Activity activity :
           {Activity::forward, Activity::backward, Activity::recompute, Activity::optimizer}) {
        EXPECT_GT(step.activity[slot(activity)], Ns{0}) << activity_names[slot(activity)];
      }
      EXPECT_GT(step.executed_flops.value, step.model_flops.value);
      EXPECT_LT(step.executed_flops.value, 4.0 / 3.0 * step.model_flops.value);
    }
    // Every fetch is a hit, late or a miss. Only the first fetch of a step cannot be ahead.
    std::uint64_t fetches = 0;
    for (const PrefetchTotals& totals : window.totals.prefetch) fetches += totals.count;
    EXPECT_EQ(static_cast<std::int64_t>(fetches),
              3 * planned_calls(rank.engine.plan(), CollectiveKind::all_gather).calls);
    EXPECT_LE(window.totals.prefetch[slot(PrefetchOutcome::miss)].count, 3U);
    for (const LayerTotals& layer : window.layers) {
      EXPECT_GT(layer.forward.count + layer.backward.count, 0U);
    }
  };
  expect_no_errors(train_threads(run));
}

// Whether a test of a message finishes it, as if the bytes moved in that call, or moves nothing.
class MovesInTests final : public comm::Forwarding {
 public:
  explicit MovesInTests(std::unique_ptr<Communicator> inner) : Forwarding(std::move(inner)) {}

  [[nodiscard]] Result<bool> test(Ticket ticket) override {
    if (!moves) return false;
    for (;;) {
      auto done = inner().test(ticket);
      if (!done || *done) return done;
    }
  }

  bool moves = true;

 private:
  [[nodiscard]] std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const override {
    return subgroup;
  }
};

// Lets polls move bytes only between the begin of a pass and its first operation, and counts the
// fetches that end there.
class MovesWhenNeeded final : public EngineObserver {
 public:
  explicit MovesWhenNeeded(MovesInTests& comm) : comm_(comm) { comm_.moves = false; }

  void collective(const CollectiveRecord& record, std::string_view /*what*/,
                  std::int64_t /*in_elements*/, std::int64_t /*out_elements*/,
                  ElementType /*type*/) noexcept override {
    if (comm_.moves && record.purpose == CollectivePurpose::parameters) ++fetches;
  }
  void step_begin(std::int64_t /*step*/) noexcept override {}
  void step_end() noexcept override {}
  void begin(const nn::OpCall& /*call*/) noexcept override { comm_.moves = false; }
  void end() noexcept override {}
  void range_begin(std::string_view /*name*/, Activity /*activity*/) noexcept override {
    comm_.moves = true;
  }
  void range_end() noexcept override {}

  std::uint64_t fetches = 0;

 private:
  MovesInTests& comm_;
};

// A fetch is a hit if it was complete before its unit was needed. One that the training thread
// completes when it needs the unit is late, and that time is a stall.
TEST(EngineAccount, AFetchThatIsCompletedWhenItIsNeededIsNoHit) {
  for (const bool when_needed : {false, true}) {
    TestRun run{.ranks = 2, .steps = 3};
    run.engine.stage = 3;
    std::vector<std::unique_ptr<MovesWhenNeeded>> observers(2);
    run.wrap = [](std::unique_ptr<Communicator> inner) {
      return std::make_unique<MovesInTests>(std::move(inner));
    };
    run.before_step = [&](TestRank& rank, int step) {
      if (!when_needed || step > 0) return;
      auto& own = observers[static_cast<std::size_t>(rank.rank)];
      own = std::make_unique<MovesWhenNeeded>(dynamic_cast<MovesInTests&>(rank.comm));
      rank.engine.observe(own.get());
    };
    run.at_end = [&](TestRank& rank) {
      rank.engine.observe(nullptr);
      dynamic_cast<MovesInTests&>(rank.comm).moves = true;
      const RankWindow window = rank.recorder.take_window();
      const auto of = [&](PrefetchOutcome o) { return window.totals.prefetch[slot(o)]; };
      const auto fetches = static_cast<std::uint64_t>(
          3 * planned_calls(rank.engine.plan(), CollectiveKind::all_gather).calls);
      const std::uint64_t missed = of(PrefetchOutcome::miss).count;
      EXPECT_GT(missed, 0U);
      EXPECT_LE(missed, 3U);
      const auto& own = observers[static_cast<std::size_t>(rank.rank)];
      const std::uint64_t late = when_needed ? own->fetches - missed : 0;
      EXPECT_EQ(late > fetches / 2, when_needed);
      EXPECT_EQ(of(PrefetchOutcome::late).count, late);
      EXPECT_EQ(of(PrefetchOutcome::hit).count, fetches - missed - late);
      EXPECT_EQ(of(PrefetchOutcome::hit).stall, Ns{});
      EXPECT_EQ(of(PrefetchOutcome::late).stall > Ns{}, when_needed);
    };
    expect_no_errors(train_threads(run));
  }
}

}  // namespace
}  // namespace stepscope::zero
