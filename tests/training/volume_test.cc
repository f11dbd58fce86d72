// SPDX-License-Identifier: Apache-2.0
// Bytes and calls that ranks ask of their group while they train, counted, against the formulas of
// the performance model (cost/data_parallel.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "stepscope/comm/counting.h"
#include "stepscope/cost/data_parallel.h"
#include "stepscope/zero/engine_test_run.h"

namespace stepscope {
namespace {

using zero::Accumulation;

struct Case {
  int stage = 0;
  int ranks = 2;
  int micro_batches = 1;
  Accumulation accumulation = Accumulation::reduce_each_microstep;
  std::int64_t bucket = 1 << 20;
};

// What one rank counted, and the plan it followed.
struct Counted {
  CommCounters counters;
  std::vector<zero::PlannedCalls> planned;  // all_reduce, reduce_scatter, all_gather
  double parameters = 0;
  std::size_t units = 0;
};

constexpr std::array kinds = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                              CollectiveKind::all_gather};
constexpr int steps = 2;

std::vector<Counted> train_counted(const Case& c) {
  std::vector<Counted> counted(static_cast<std::size_t>(c.ranks));
  zero::TestRun run{.ranks = c.ranks, .steps = steps};
  run.engine.stage = c.stage;
  run.engine.micro_batches = c.micro_batches;
  run.engine.accumulation = c.accumulation;
  run.engine.bucket_bytes = {c.bucket};
  run.engine.prefetch_depth = 0;  // nothing stays for its backward: each unit is gathered twice
  run.wrap = [&](std::unique_ptr<Communicator> comm) {
    auto& mine = counted[static_cast<std::size_t>(comm->rank())];
    return counting(std::move(comm), mine.counters);
  };
  run.at_end = [&](zero::TestRank& rank) {
    auto& mine = counted[static_cast<std::size_t>(rank.rank)];
    for (const auto kind : kinds) {
      mine.planned.push_back(zero::planned_calls(rank.engine.plan(), kind));
    }
    mine.units = rank.engine.plan().units.size();
    for (const auto& unit : rank.engine.plan().units) {
      mine.parameters += static_cast<double>(unit.count);
    }
  };
  zero::expect_no_errors(zero::train_threads(run));
  return counted;
}

DataVolume volume_of(const Case& c, double parameters) {
  Plan plan;
  plan.devices = plan.dp = c.ranks;
  plan.zero = c.stage;
  plan.micro_batch = 1;
  plan.global_batch = c.ranks * c.micro_batches;
  plan.reduce_each_micro_batch = c.accumulation == Accumulation::reduce_each_microstep;
  plan.precision.parameter_bytes = plan.precision.gradient_bytes = 4;
  return data_volume(plan, parameters, 0);
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
    const DataVolume volume = volume_of(c, counted.parameters);
    const double tolerance = 64;  // whole bytes, of each call
    if (c.stage == 0) {
      EXPECT_NEAR(sent(CollectiveKind::all_reduce),
                  volume.reduced + 2 * share * small_sums(counted), tolerance);
    } else {
      EXPECT_NEAR(sent(CollectiveKind::reduce_scatter), volume.reduced + padding(1), tolerance);
      EXPECT_NEAR(sent(CollectiveKind::all_gather), volume.gathered + padding(2), tolerance);
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::int64_t few = kinds[k] == CollectiveKind::all_reduce ? 3 : 0;
      EXPECT_EQ(static_cast<std::int64_t>(counted.counters[kinds[k]].calls),
                steps * (counted.planned[k].calls + few));
    }
  }
}

TEST(TrainingVolume, IsWhatThePerformanceModelSays) {
  int cases = 0;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      for (const int micro_batches : {1, 3}) {
        for (const auto policy :
             {Accumulation::reduce_each_microstep, Accumulation::accumulate_then_reduce}) {
          // The model has stages 2 and 3 always reduce each micro-batch.
          const bool then = policy == Accumulation::accumulate_then_reduce;
          if (stage >= 2 && then) continue;
          for (const std::int64_t bucket : {2048 * ranks, 1 << 20}) {
            compare({stage, ranks, micro_batches, policy, bucket});
            ++cases;
          }
        }
      }
    }
  }
  std::printf("%d cases\n", cases);
  EXPECT_EQ(cases, 5 * 2 * 2 * (2 + 2 + 1 + 1));
}

}  // namespace
}  // namespace stepscope
