// SPDX-License-Identifier: Apache-2.0
// Weights and moments have the same bits at every stage and with every setting that must not
// matter.
#include "engine/zero/engine/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

// The difference of one run of the matrix from its reference.
struct Variant {
  int stage = 0;
  std::int64_t bucket = 1 << 20;
  int depth = 1;
  nn::Recompute recompute = nn::Recompute::none;
};

std::string text_of(const Variant& variant) {
  return "stage " + std::to_string(variant.stage) + ", bucket of " +
         std::to_string(variant.bucket) + " bytes, depth " + std::to_string(variant.depth) +
         ", recompute " + std::to_string(static_cast<int>(variant.recompute));
}

// Trains each variant and counts the values that differ from the run as given at stage 0.
struct Matrix {
  int configurations = 0;
  std::int64_t found = 0;

  void compare(const TestRun& run, const std::vector<Variant>& variants) {
    TestRun plain = run;
    plain.engine.stage = 0;
    const TestOutcome reference = train_threads(plain);
    expect_no_errors(reference);
    for (const Variant& variant : variants) {
      TestRun other = run;
      other.engine.stage = variant.stage;
      other.engine.bucket_bytes = {variant.bucket};
      other.engine.prefetch_distance = variant.depth;
      other.engine.recompute = {.kind = variant.recompute, .every = 2};
      const TestOutcome outcome = train_threads(other);
      expect_no_errors(outcome);
      const std::int64_t here = differences(outcome.state, reference.state);
      EXPECT_EQ(here, 0) << text_of(variant) << ", " << run.ranks << " ranks";
      for (int rank = 0; rank < run.ranks; ++rank) {
        expect_same_results(outcome.steps[static_cast<std::size_t>(rank)], reference.steps[0]);
      }
      found += here;
      ++configurations;
    }
  }

  static void expect_same_results(const std::vector<StepResult>& a,
                                  const std::vector<StepResult>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].loss, b[i].loss);
      EXPECT_EQ(a[i].gradient_norm, b[i].gradient_norm);
      EXPECT_EQ(a[i].tokens, b[i].tokens);
      EXPECT_EQ(a[i].clipped, b[i].clipped);
    }
  }

  void say(const char* what) const {
    std::printf("%s: %d configurations, %lld differences\n", what, configurations,
                static_cast<long long>(found));
  }
};

std::vector<Variant> stages_and(const std::vector<std::int64_t>& buckets,
                                const std::vector<int>& depths,
                                const std::vector<nn::Recompute>& recomputes) {
  std::vector<Variant> variants;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const std::int64_t bucket : buckets) {
      for (const int depth : depths) {
        if (stage < 3 && depth != depths.front()) continue;  // only stage 3 fetches
        for (const auto recompute : recomputes) {
          variants.push_back(
              {.stage = stage, .bucket = bucket, .depth = depth, .recompute = recompute});
        }
      }
    }
  }
  return variants;
}

constexpr std::int64_t whole = 1 << 20;

TEST(EngineMatrix, StageWorldBucketPrefetchRecompute) {
  Matrix matrix;
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    TestRun run{.ranks = ranks, .steps = 2, .uneven = true};
    const std::int64_t odd = 37 * 4 * ranks;
    matrix.compare(
        run, stages_and({odd, whole}, {0, 1, 100}, {nn::Recompute::none, nn::Recompute::full}));
  }
  matrix.say("f32");
}

TEST(EngineMatrix, MessagesOfOneElement) {
  Matrix matrix;
  for (const int ranks : {2, 3}) {
    const TestRun run{.ranks = ranks, .steps = 1};
    matrix.compare(run, stages_and({1}, {1}, {nn::Recompute::none}));
  }
  matrix.say("buckets of one element");
}

TEST(EngineMatrix, TwentySteps) {
  Matrix matrix;
  const TestRun run{.ranks = 3, .steps = 20};
  matrix.compare(run, stages_and({whole}, {1}, {nn::Recompute::selective}));
  matrix.say("20 steps");
}

TEST(EngineMatrix, Bfloat16WithMasterWeights) {
  Matrix matrix;
  for (const int ranks : {1, 2, 3}) {
    TestRun run{.ranks = ranks, .steps = 2};
    run.engine.type = ElementType::bf16;
    run.engine.micro_batches = 2;
    matrix.compare(run, stages_and({37 * 4 * ranks, whole}, {1},
                                   {nn::Recompute::none, nn::Recompute::every_k}));
  }
  matrix.say("bf16");
}

TEST(EngineMatrix, BothWaysOfAccumulating) {
  Matrix matrix;
  for (const auto policy :
       {Accumulation::reduce_each_microstep, Accumulation::accumulate_then_reduce}) {
    TestRun run{.ranks = 3, .steps = 2, .uneven = true};
    run.engine.micro_batches = 3;
    run.engine.accumulation = policy;
    matrix.compare(run, stages_and({37 * 12, whole}, {1}, {nn::Recompute::none}));
  }
  matrix.say("accumulation");
}

TEST(EngineMatrix, UntiedLlamaWithGroupedQueries) {
  Matrix matrix;
  TestRun run{.ranks = 3, .steps = 2};
  run.engine.network = {.family = nn::NetworkFamily::llama,
                        .layers = 2,
                        .heads = 4,
                        .kv_heads = 2,
                        .channels = 16,
                        .hidden = 24,
                        .vocab = 31,
                        .padded_vocab = 32,
                        .context = 8,
                        .tied = false};
  matrix.compare(run,
                 stages_and({whole}, {0, 2},
                            {nn::Recompute::none, nn::Recompute::selective, nn::Recompute::full}));
  matrix.say("llama");
}

// Wider than the tiles of the products, and not a multiple of them. The stages hold parameters at
// different addresses.
TEST(EngineMatrix, MatricesOfSeveralTiles) {
  Matrix matrix;
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    TestRun run{.ranks = 2, .steps = 1};
    run.engine.type = type;
    run.engine.network.channels = 76;
    run.engine.network.hidden = 210;
    run.engine.network.vocab = run.engine.network.padded_vocab = 151;
    run.engine.network.context = 35;
    run.engine.tokens = 35;
    matrix.compare(run, stages_and({37 * 8, whole}, {1}, {nn::Recompute::none}));
  }
  matrix.say("matrices of several tiles");
}

TEST(EngineMatrix, FewerParametersThanRanks) {
  Matrix matrix;
  TestRun run{.ranks = 7, .steps = 2};
  run.engine.network = {.family = nn::NetworkFamily::llama,
                        .layers = 1,
                        .heads = 1,
                        .kv_heads = 1,
                        .channels = 2,
                        .hidden = 1,
                        .vocab = 2,
                        .padded_vocab = 2,
                        .context = 2,
                        .tied = false};
  run.engine.tokens = 2;
  ASSERT_LT(nn::network_units(run.engine.network)[0].count, 7);
  matrix.compare(run, stages_and({1, whole}, {1}, {nn::Recompute::none}));
  matrix.say("fewer parameters than ranks");
}

TEST(EngineMatrix, DropoutIsTheSameWhereItIsRecomputed) {
  Matrix matrix;
  TestRun run{.ranks = 2, .steps = 3};
  run.engine.network.dropout = 0.2F;
  matrix.compare(run, stages_and({whole}, {1},
                                 {nn::Recompute::none, nn::Recompute::selective,
                                  nn::Recompute::full, nn::Recompute::every_k}));
  TestRun without = run;
  without.engine.network.dropout = 0;
  EXPECT_NE(differences(train_threads(run).state, train_threads(without).state), 0);
  matrix.say("dropout");
}

// W ranks with one micro-batch each add gradients in rank order. One rank that reduces each of W
// micro-batches adds the same gradients in the same order.
TEST(Engine, ManyRanksAreOneRankWithTheWholeBatch) {
  for (const int ranks : {2, 3, 5}) {
    TestRun many{.ranks = ranks, .steps = 4, .uneven = true};
    many.engine.stage = 3;
    TestRun one = many;
    one.ranks = 1;
    one.engine.micro_batches = ranks;
    const TestOutcome of_many = train_threads(many);
    const TestOutcome of_one = train_threads(one);
    expect_no_errors(of_many);
    expect_no_errors(of_one);
    EXPECT_EQ(differences(of_many.state, of_one.state), 0) << ranks;
    // One batch of the same number of rows sums in another order.
    TestRun rows = many;
    rows.ranks = 1;
    rows.engine.batch = ranks;
    const TestOutcome of_rows = train_threads(rows);
    EXPECT_LT(largest_difference(of_many.state, of_rows.state), 2e-4) << ranks;
    EXPECT_NEAR(of_many.steps[0][0].loss, of_rows.steps[0][0].loss, 1e-6);
    EXPECT_EQ(of_many.steps[0][0].tokens, of_rows.steps[0][0].tokens);
  }
}

TEST(Engine, BothWaysOfAccumulatingDifferInTheLastBitsOnly) {
  TestRun run{.ranks = 2, .steps = 2};
  run.engine.micro_batches = 3;
  const TestOutcome each = train_threads(run);
  run.engine.accumulation = Accumulation::accumulate_then_reduce;
  const TestOutcome then = train_threads(run);
  EXPECT_LT(largest_difference(each.state, then.state), 2e-4);
  EXPECT_EQ(each.steps[0][0].loss, then.steps[0][0].loss);
}

// After one step from zero, v is (1 - beta2) times the square of AdamW's input.
TEST(Engine, ClipsTheNormOfAllParametersToItsLimit) {
  for (const double limit : {0.0, 0.25}) {
    TestRun run{.ranks = 3, .steps = 1, .uneven = true};
    run.engine.stage = 2;
    run.engine.optimizer.clip_norm = limit;
    const TestOutcome outcome = train_threads(run);
    expect_no_errors(outcome);
    double squares = 0;
    for (const auto& unit : outcome.state.v) {
      for (const float value : unit) squares += static_cast<double>(value);
    }
    const double given =
        std::sqrt(squares / (1.0 - static_cast<double>(run.engine.optimizer.beta2)));
    const StepResult& step = outcome.steps[0][0];
    EXPECT_GT(step.gradient_norm, 0.25);
    EXPECT_EQ(step.clipped, limit > 0);
    EXPECT_NEAR(given, limit > 0 ? limit : step.gradient_norm, 1e-5 * given);
    for (const auto& of_rank : outcome.steps) {
      EXPECT_EQ(of_rank[0].gradient_norm, step.gradient_norm);
    }
  }
}

TEST(Engine, DecaysMatricesOnly) {
  TestRun run{.ranks = 2, .steps = 1};
  run.engine.stage = 3;
  run.engine.optimizer.weight_decay = 0;
  const TestOutcome without = train_threads(run);
  run.engine.optimizer.weight_decay = 0.5F;
  const TestOutcome with = train_threads(run);
  const auto units = nn::network_units(run.engine.network);
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const nn::Parameter& parameter : units[u].parameters) {
      std::int64_t differ = 0;
      for (std::int64_t i = 0; i < parameter.count; ++i) {
        const auto at = static_cast<std::size_t>(parameter.offset + i);
        differ += with.state.master[u][at] != without.state.master[u][at] ? 1 : 0;
      }
      EXPECT_EQ(differ > 0, parameter.decay) << parameter.name;
    }
  }
}

TEST(Engine, LearnsWhatItSeesAgainAndAgain) {
  TestRun run{.ranks = 2, .steps = 60};
  run.engine.stage = 3;
  // Repeats the batches of step 0.
  std::vector<double> losses;
  run.before_step = [](TestRank& rank, int) {
    auto state = rank.engine.state();
    ASSERT_TRUE(state);
    TrainingCursor cursor = rank.engine.cursor();
    cursor.step = 0;
    ASSERT_TRUE(rank.engine.state_loaded(cursor));
  };
  const TestOutcome outcome = train_threads(run);
  expect_no_errors(outcome);
  EXPECT_NEAR(outcome.steps[0].front().loss, std::log(31.0), 0.2);
  EXPECT_LT(outcome.steps[0].back().loss, 0.5);
}

// Counts messages during which an operation began.
class Overlapped final : public EngineObserver {
 public:
  void begin(const nn::OpCall& /*call*/) noexcept override { last_ = monotonic_now(); }
  void end() noexcept override {}
  void step_begin(std::int64_t /*step*/) noexcept override {}
  void step_end() noexcept override {}
  void range_begin(std::string_view /*name*/, Activity /*activity*/) noexcept override {}
  void range_end() noexcept override {}
  void collective(const CollectiveRecord& record, std::string_view /*what*/,
                  std::int64_t /*in_elements*/, std::int64_t /*out_elements*/,
                  ElementType /*type*/) noexcept override {
    ++messages_;
    if (last_ > record.submitted) ++overlapped_;
  }
  [[nodiscard]] std::int64_t messages() const { return messages_; }
  [[nodiscard]] std::int64_t overlapped() const { return overlapped_; }

 private:
  Ns last_ = Ns::min();
  std::int64_t messages_ = 0;
  std::int64_t overlapped_ = 0;
};

TEST(Engine, WithoutOverlapEachMessageEndsBeforeTheNextOperation) {
  for (int stage = 0; stage <= 3; ++stage) {
    TestRun run{.ranks = 2, .steps = 2};
    run.engine.stage = stage;
    run.engine.micro_batches = 2;
    run.engine.bucket_bytes = {1 << 10};
    std::array<TestOutcome, 2> outcomes;
    for (const bool overlaps : {true, false}) {
      std::array<Overlapped, 2> seen;
      run.before_step = [&](TestRank& rank, int) {
        rank.engine.observe(&seen[static_cast<std::size_t>(rank.rank)]);
        rank.engine.overlap(overlaps);
      };
      run.at_end = [](TestRank& rank) {
        ASSERT_TRUE(rank.engine.state());
        rank.engine.observe(nullptr);
      };
      outcomes[overlaps ? 0 : 1] = train_threads(run);
      expect_no_errors(outcomes[overlaps ? 0 : 1]);
      for (const Overlapped& rank : seen) {
        EXPECT_GT(rank.messages(), 0) << stage;
        EXPECT_EQ(rank.overlapped() > 0, overlaps) << stage << ": " << rank.overlapped();
      }
    }
    EXPECT_EQ(differences(outcomes[0].state, outcomes[1].state), 0) << stage;
  }
}

}  // namespace
}  // namespace stepscope::zero
