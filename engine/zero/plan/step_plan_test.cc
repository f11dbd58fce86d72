// SPDX-License-Identifier: Apache-2.0
// Compares bytes with the formulas of ZeRO, and replays actions to find forbidden ones.
#include "engine/zero/plan/step_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace stepscope::zero {
namespace {

nn::NetworkConfig tiny(bool tied = true) {
  return {.family = nn::NetworkFamily::gpt2,
          .layers = 3,
          .heads = 2,
          .kv_heads = 2,
          .channels = 16,
          .hidden = 64,
          .vocab = 31,
          .padded_vocab = 32,
          .context = 8,
          .tied = tied};
}

Plan plan_of(const PlanRequest& request, const nn::NetworkConfig& config = tiny(),
             const nn::RecomputePlan& recompute = {}) {
  auto plan = make_plan(request, nn::network_units(config), nn::training_passes(config, recompute),
                        nn::evaluation_passes(config));
  EXPECT_TRUE(plan) << plan.error().message();
  return *std::move(plan);
}

std::int64_t parameters_of(const Plan& plan) {
  std::int64_t sum = 0;
  for (const nn::Unit& unit : plan.units) sum += unit.count;
  return sum;
}
std::int64_t own_of(const Plan& plan) {
  std::int64_t sum = 0;
  for (const UnitPlace& place : plan.places) sum += place.shard.shard_size();
  return sum;
}

TEST(Plan, ModelStateFollowsTheFormulasOfZeroExactly) {
  struct Formula {
    std::int64_t whole;  // bytes for each parameter of the model
    std::int64_t own;    // bytes for each parameter of the rank's shard
  };
  constexpr std::array<Formula, 4> f32 = {{{16, 0}, {8, 8}, {4, 12}, {0, 16}}};
  constexpr std::array<Formula, 4> mixed = {{{16, 0}, {4, 12}, {2, 14}, {0, 16}}};
  for (int world = 1; world <= 9; ++world) {
    for (int rank = 0; rank < world; ++rank) {
      for (int stage = 0; stage <= 3; ++stage) {
        for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
          const Plan plan =
              plan_of({.stage = stage, .rank = rank, .world_size = world, .type = type});
          const Formula& formula =
              (type == ElementType::f32 ? f32 : mixed)[static_cast<std::size_t>(stage)];
          ASSERT_EQ(plan.model_state().value,
                    formula.whole * parameters_of(plan) + formula.own * own_of(plan))
              << "stage " << stage << " rank " << rank << " of " << world;
        }
      }
    }
  }
}

TEST(Plan, MasterAndMomentsOfAllRanksAreThoseOfTheModel) {
  for (const int stage : {1, 2, 3}) {
    Bytes sum{};
    std::int64_t parameters = 0;
    for (int rank = 0; rank < 7; ++rank) {
      const Plan plan =
          plan_of({.stage = stage, .rank = rank, .world_size = 7, .type = ElementType::bf16});
      sum += plan.memory[static_cast<std::size_t>(ArenaClass::master)].bytes;
      sum += plan.memory[static_cast<std::size_t>(ArenaClass::moments)].bytes;
      parameters = parameters_of(plan);
    }
    EXPECT_EQ(sum, Bytes{12 * parameters}) << stage;
  }
}

// Walks through the actions like an engine and records errors.
struct Replay {
  explicit Replay(const Plan& plan) : plan_(plan) {}

  void run(const std::vector<Action>& actions, const std::vector<nn::Pass>& passes) {
    for (const Action& action : actions) {
      const nn::Pass& pass = passes[action.pass];
      switch (action.kind) {
        case ActionKind::fetch:
          enter(gathered_, action, plan_.places[action.unit].layout.padded_elements());
          ++fetches[action.unit];
          break;
        case ActionKind::open:
          enter(gradients_, action, plan_.places[action.unit].layout.elements);
          break;
        case ActionKind::use:
          use(action, pass);
          break;
        case ActionKind::reduce:
          EXPECT_TRUE(pass.last_gradient);
          ++reductions[action.unit];
          break;
        case ActionKind::close:
          EXPECT_EQ(gradients_.erase(action.unit), 1U);
          break;
        case ActionKind::release:
          EXPECT_EQ(gathered_.erase(action.unit), 1U);
          break;
      }
    }
    EXPECT_TRUE(gathered_.empty());
    EXPECT_TRUE(gradients_.empty());
  }

  std::map<std::size_t, int> fetches;
  std::map<std::size_t, int> reductions;
  std::size_t most_units = 0;
  std::vector<std::pair<int, std::size_t>> uses;

 private:
  using Live = std::map<std::size_t, std::pair<std::int64_t, std::int64_t>>;  // unit: begin, end

  void enter(Live& live, const Action& action, std::int64_t elements) {
    const auto size = static_cast<std::int64_t>(element_bytes(plan_.request.type));
    const std::int64_t begin = action.place;
    const std::int64_t end = begin + elements * size;
    for (const auto& [unit, range] : live) {
      EXPECT_TRUE(end <= range.first || begin >= range.second) << "two units in one place";
    }
    EXPECT_TRUE(live.emplace(action.unit, std::pair{begin, end}).second);
    const ArenaClass c =
        &live == &gathered_ ? ArenaClass::gathered_units : ArenaClass::unit_gradients;
    EXPECT_LE(end, plan_.memory[static_cast<std::size_t>(c)].arena().value);
    if (&live == &gathered_) most_units = std::max(most_units, live.size());
  }

  void use(const Action& action, const nn::Pass& pass) {
    uses.emplace_back(action.micro_batch, action.pass);
    if (plan_.request.stage == 3 && reads_parameters(pass)) {
      EXPECT_TRUE(gathered_.contains(pass.unit)) << "a unit is used that is not there";
    }
    if (pass.writes_gradient && plan_.places[pass.unit].local_at < 0) {
      EXPECT_TRUE(gradients_.contains(pass.unit)) << "a gradient has no place";
    }
  }

  const Plan& plan_;
  Live gathered_;
  Live gradients_;
};

TEST(Plan, EveryUseFindsItsUnitAndNoTwoShareAPlace) {
  int plans = 0;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int depth : {0, 1, 2, 3, 100}) {
      for (const int micro_batches : {1, 3}) {
        for (const bool tied : {true, false}) {
          for (const auto kind : {nn::Recompute::none, nn::Recompute::full}) {
            for (const auto policy :
                 {Accumulation::reduce_each_microstep, Accumulation::accumulate_then_reduce}) {
              const Plan plan = plan_of({.stage = stage,
                                         .rank = 1,
                                         .world_size = 3,
                                         .micro_batches = micro_batches,
                                         .accumulation = policy,
                                         .prefetch_distance = depth},
                                        tiny(tied), {.kind = kind});
              Replay step(plan);
              step.run(plan.step, plan.passes);
              ASSERT_EQ(step.uses.size(),
                        plan.passes.size() * static_cast<std::size_t>(micro_batches));
              ASSERT_TRUE(std::ranges::is_sorted(step.uses));
              const bool each = policy == Accumulation::reduce_each_microstep;
              for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
                ASSERT_EQ(step.reductions[unit], each ? micro_batches : 1);
              }
              ASSERT_LE(step.most_units, static_cast<std::size_t>(stage == 3 ? depth + 1 : 0));
              Replay evaluation(plan);
              evaluation.run(plan.evaluation, plan.evaluation_passes);
              ++plans;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(plans, 4 * 5 * 2 * 2 * 2 * 2);
}

// zero_engine §2: per rank and step, of f = (W - 1) / W and p = g bytes a parameter: stage 0 sends
// 2 f g Psi, 1 f (GA g + p) Psi or f (g + p) Psi, 2 f (GA g + p) Psi, 3 f GA (2 p + g) Psi.
TEST(Plan, VolumeFollowsTheFormulasWhereNothingIsPadded) {
  nn::NetworkConfig config = tiny();
  config.channels = 32;  // every unit a multiple of 2 * 16
  config.hidden = 128;
  for (const int micro_batches : {1, 4}) {
    for (const auto policy :
         {Accumulation::reduce_each_microstep, Accumulation::accumulate_then_reduce}) {
      for (int stage = 0; stage <= 3; ++stage) {
        const Plan plan = plan_of({.stage = stage,
                                   .world_size = 2,
                                   .micro_batches = micro_batches,
                                   .accumulation = policy,
                                   .prefetch_distance = 0},
                                  config);
        const std::int64_t psi = 4 * parameters_of(plan);
        const std::int64_t reductions =
            policy == Accumulation::reduce_each_microstep ? micro_batches : 1;
        const PlannedCalls sums = planned_calls(plan, CollectiveKind::all_reduce);
        const PlannedCalls scatters = planned_calls(plan, CollectiveKind::reduce_scatter);
        const PlannedCalls gathers = planned_calls(plan, CollectiveKind::all_gather);
        EXPECT_EQ(sums.payload.value, stage == 0 ? reductions * psi : 0);
        EXPECT_EQ(scatters.payload.value, stage > 0 ? reductions * psi : 0);
        EXPECT_EQ(gathers.payload.value, stage == 0   ? 0
                                         : stage == 3 ? 2 * micro_batches * psi
                                                      : psi);
        EXPECT_EQ(sums.padding.value + scatters.padding.value + gathers.padding.value, 0);
      }
    }
  }
}

// With a window of two or more passes the last block stays for its backward.
TEST(Plan, PrefetchedUnitsThatAreWantedAgainSoonAreNotFetchedAgain) {
  const Plan plan = plan_of({.stage = 3, .world_size = 2, .prefetch_distance = 1});
  Replay step(plan);
  step.run(plan.step, plan.passes);
  for (const auto& [unit, times] : step.fetches) {
    EXPECT_EQ(times, unit == plan.units.size() - 1 ? 1 : 2) << plan.units[unit].name;
  }
}

TEST(Plan, FetchesOnceAStepWhereTheWindowHoldsTheWholeStep) {
  const Plan plan =
      plan_of({.stage = 3, .world_size = 2, .micro_batches = 3, .prefetch_distance = 1000});
  Replay step(plan);
  step.run(plan.step, plan.passes);
  for (const auto& [unit, times] : step.fetches) EXPECT_EQ(times, 1) << unit;
}

TEST(Plan, RecomputationFetchesABlockOnceForBothItsPasses) {
  for (const auto kind : {nn::Recompute::none, nn::Recompute::full}) {
    const Plan plan =
        plan_of({.stage = 3, .world_size = 2, .prefetch_distance = 0}, tiny(), {.kind = kind});
    Replay step(plan);
    step.run(plan.step, plan.passes);
    for (const auto& [unit, times] : step.fetches) EXPECT_EQ(times, 2) << unit;
  }
}

TEST(Plan, BucketsHoldWhatIsAskedForAndNeverLessThanAnElement) {
  const Plan one = plan_of({.stage = 2, .world_size = 3, .bucket_bytes = {1}});
  EXPECT_EQ(one.bucket_elements, 1);
  const Plan odd = plan_of({.stage = 2, .world_size = 3, .bucket_bytes = {7 * 3 * 4}});
  EXPECT_EQ(odd.bucket_elements, 7);
  // No larger than the longest unit needs.
  for (const int buckets : {1, 4}) {
    const Plan large =
        plan_of({.stage = 2, .world_size = 3, .bucket_bytes = {1 << 30}, .buckets = buckets});
    std::int64_t longest = 0;
    for (const UnitPlace& place : large.places) longest = std::max(longest, place.layout.stride);
    EXPECT_LE(large.bucket_elements * buckets, longest);
    EXPECT_GT((large.bucket_elements + 16) * buckets, longest);
  }
}

TEST(Plan, RefusesWhatMakesNoSense) {
  const auto refused = [](const PlanRequest& request) {
    const auto plan = make_plan(request, {}, {}, {});
    return plan ? std::string() : plan.error().message();
  };
  EXPECT_NE(refused({.stage = 4}).find("stage 4"), std::string::npos);
  EXPECT_NE(refused({.rank = 2, .world_size = 2}).find("rank 2 of 2"), std::string::npos);
  EXPECT_NE(refused({.type = ElementType::f64}).find("f64"), std::string::npos);
  EXPECT_FALSE(refused({.micro_batches = 0}).empty());
  EXPECT_FALSE(refused({.prefetch_distance = -1}).empty());
  EXPECT_FALSE(refused({.bucket_bytes = {0}}).empty());
}

// Blocks are larger than the embedding, whose place is free when two blocks are gathered.
TEST(Plan, FreePlacesOfAPoolAreNoPadding) {
  nn::NetworkConfig config = tiny();
  config.channels = 32;  // every unit a multiple of 2 * 16
  config.hidden = 128;
  const auto gathered = [](const Plan& plan) {
    return plan.memory[static_cast<std::size_t>(ArenaClass::gathered_units)];
  };
  const Plan even = plan_of({.stage = 3, .world_size = 2}, config);
  const std::int64_t first = even.units.front().count;
  ASSERT_LT(first, even.units.back().count);
  EXPECT_EQ(gathered(even).bytes, Bytes{2 * 4 * even.units.back().count});
  EXPECT_EQ(gathered(even).padding, Bytes{});
  EXPECT_EQ(gathered(even).unused, Bytes{4 * first});
  // 7 ranks divide no unit.
  const Plan odd = plan_of({.stage = 3, .world_size = 7}, config);
  EXPECT_EQ(gathered(odd).padding, Bytes{2 * 4 * odd.places.back().layout.padding()});
  EXPECT_EQ(gathered(odd).bytes, gathered(even).bytes);
}

TEST(Plan, SaysItsMemoryAndOrderInWords) {
  const std::string text = plan_text(plan_of({.stage = 3, .rank = 1, .world_size = 3}));
  EXPECT_NE(text.find("rank 1 of 3: ZeRO stage 3, f32"), std::string::npos) << text;
  EXPECT_NE(text.find("gathered units"), std::string::npos);
  EXPECT_NE(text.find("fetch embed_head; fetch block 0; use embed_head;"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace stepscope::zero
