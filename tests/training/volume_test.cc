// SPDX-License-Identifier: Apache-2.0
// Counts the bytes and calls of ranks during training and compares them with the formulas of the
// performance model (cost/step/data_parallel.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/measured/counting_communicator.h"
#include "engine/zero/engine/engine_test_run.h"
#include "stepscope/cost/step/data_parallel.h"

namespace stepscope {
namespace {

using zero::Accumulation;

struct Case {
  int stage = 0;
  int ranks = 2;
  int micro_batches = 1;
  Accumulation accumulation = Accumulation::reduce_each_microstep;
  bool whole_units = true;  // in one message
  nn::Recompute recompute = nn::Recompute::none;
  bool tied = true;
  ElementType type = ElementType::f32;
};

std::string text_of(const Case& c) {
  return "stage " + std::to_string(c.stage) + ", " + std::to_string(c.ranks) + " ranks, " +
         std::to_string(c.micro_batches) + " micro-batches" +
         (c.accumulation == Accumulation::accumulate_then_reduce ? " reduced at once" : "") +
         ", recompute " + std::to_string(static_cast<int>(c.recompute)) +
         (c.tied ? ", tied" : ", untied");
}

// The counts of one rank, and its plan.
struct Counted {
  CommCounters counters;
  std::vector<zero::PlannedCalls> planned;  // of `kinds`
  double parameters = 0;
  double used_once = 0;  // of units read by a single pass of a micro-batch
  std::size_t units = 0;
};

constexpr std::array kinds = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                              CollectiveKind::all_gather};
constexpr int steps = 2;

std::vector<Counted> train_counted(const Case& c) {
  std::vector<Counted> counted(static_cast<std::size_t>(c.ranks));
  zero::TestRun run{.ranks = c.ranks, .steps = steps};
  run.engine.stage = c.stage;
  run.engine.type = c.type;
  run.engine.network.tied = c.tied;
  run.engine.micro_batches = c.micro_batches;
  run.engine.accumulation = c.accumulation;
  run.engine.recompute = {.kind = c.recompute, .every = 2};
  run.engine.bucket_bytes = {c.whole_units ? std::int64_t{1} << 20U : std::int64_t{2048} * c.ranks};
  if (c.whole_units) run.engine.buckets = 1;
  run.engine.prefetch_distance = 0;  // nothing stays for its backward: each unit is gathered twice
  run.wrap = [&](std::unique_ptr<Communicator> comm) {
    auto& mine = counted[static_cast<std::size_t>(comm->rank())];
    return counting(std::move(comm), mine.counters);
  };
  run.at_end = [&](zero::TestRank& rank) {
    const zero::Plan& plan = rank.engine.plan();
    auto& mine = counted[static_cast<std::size_t>(rank.rank)];
    for (const auto kind : kinds) mine.planned.push_back(zero::planned_calls(plan, kind));
    mine.units = plan.units.size();
    for (std::size_t u = 0; u < plan.units.size(); ++u) {
      const auto parameters = static_cast<double>(plan.units[u].count);
      mine.parameters += parameters;
      // An untied head trains in one pass, and the backward of an untied embedding reads nothing.
      if (!c.tied && (u == 0 || u + 1 == plan.units.size())) mine.used_once += parameters;
    }
  };
  zero::expect_no_errors(zero::train_threads(run));
  return counted;
}

DataVolume volume_of(const Case& c, double parameters) {
  Plan plan;
  plan.devices = plan.dp = c.ranks;
  plan.zero = c.stage;
  plan.batch.micro = 1;
  plan.batch.global = c.ranks * c.micro_batches;
  plan.batch.reduce_each_micro = c.accumulation == Accumulation::reduce_each_microstep;
  plan.precision.parameter_bytes = plan.precision.gradient_bytes =
      static_cast<int>(element_bytes(c.type));
  return data_volume(plan, {.dense = parameters, .trained = parameters});
}

// In the model, stages 2 and 3 reduce each micro-batch, and stage 3 gathers each unit twice for it.
// If gradients are reduced at once, they are sent as often as with one micro-batch. A unit that
// only one pass reads is gathered half as often.
DataVolume expected_volume(const Case& c, const Counted& counted) {
  DataVolume volume = volume_of(c, counted.parameters);
  if (c.accumulation == Accumulation::accumulate_then_reduce) {
    Case once = c;
    once.micro_batches = 1;
    volume.reduced = volume_of(once, counted.parameters).reduced;
  }
  if (c.stage == 3) volume.gathered -= volume_of(c, counted.used_once).gathered / 2;
  return volume;
}

// Loss and tokens, largest exponents, squares: three small sums a step, in bytes of their vectors.
double small_sums(const Counted& counted) {
  return 16.0 + 8.0 * static_cast<double>(counted.units + 2) + 32.0;
}

void compare(const Case& c) {
  const double n = c.ranks;
  const double share = (n - 1) / n;
  for (const Counted& counted : train_counted(c)) {
    const auto sent = [&](CollectiveKind kind) {
      return static_cast<double>(counted.counters[kind].sent.value) / steps;
    };
    const auto padding = [&](std::size_t kind) {
      return share * static_cast<double>(counted.planned[kind].padding.value);
    };
    const auto calls = [&](std::size_t kind) {
      return static_cast<std::int64_t>(counted.counters[kinds[kind]].calls);
    };
    const DataVolume volume = expected_volume(c, counted);
    // Each all-reduce counts whole bytes; all other figures are exact.
    const double sums = c.stage == 0 ? volume.reduced : 0;
    const double rounding = 0.5 * static_cast<double>(calls(0)) / steps + 1e-6;
    ASSERT_NEAR(sent(CollectiveKind::all_reduce), sums + 2 * share * small_sums(counted), rounding)
        << text_of(c);
    ASSERT_NEAR(sent(CollectiveKind::reduce_scatter), volume.reduced - sums + padding(1), 1e-6)
        << text_of(c);
    ASSERT_NEAR(sent(CollectiveKind::all_gather), volume.gathered + padding(2), 1e-6) << text_of(c);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::int64_t few = kinds[k] == CollectiveKind::all_reduce ? 3 : 0;
      ASSERT_EQ(calls(k), steps * (counted.planned[k].calls + few)) << text_of(c);
    }
  }
}

struct Micro {
  int count = 1;
  Accumulation accumulation = Accumulation::reduce_each_microstep;
};
constexpr std::array micros = {Micro{}, Micro{.count = 3},
                               Micro{3, Accumulation::accumulate_then_reduce}};

#ifdef STEPSCOPE_SANITIZED
constexpr std::array worlds = {2, 3};  // each instrumented rank is a slow thread
#else
constexpr std::array worlds = {1, 2, 3, 4, 5};
#endif

TEST(TrainingVolume, IsWhatThePerformanceModelSays) {
  int cases = 0;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int ranks : worlds) {
      for (const Micro& micro : micros) {
        for (const auto recompute : {nn::Recompute::none, nn::Recompute::selective,
                                     nn::Recompute::full, nn::Recompute::every_k}) {
          for (const bool tied : {true, false}) {
            for (const bool whole : {true, false}) {
              const auto type = (ranks + cases) % 2 == 0 ? ElementType::f32 : ElementType::bf16;
              compare(
                  {stage, ranks, micro.count, micro.accumulation, whole, recompute, tied, type});
              if (HasFatalFailure()) return;
              ++cases;
            }
          }
        }
      }
    }
  }
  std::printf("%d cases of %zu world sizes\n", cases, worlds.size());
  EXPECT_EQ(cases, 4 * static_cast<int>(worlds.size()) * 3 * 4 * 2 * 2);
}

}  // namespace
}  // namespace stepscope
