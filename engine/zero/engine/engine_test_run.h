// SPDX-License-Identifier: Apache-2.0
// Trains a tiny network on ranks that are threads, and collects their final states.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/thread_group.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/zero/engine/engine.h"

namespace stepscope::zero {

// Two layers of 16 channels, sequences of 8 tokens out of 31: no unit divides by many ranks.
inline EngineConfig tiny_engine() {
  EngineConfig config;
  config.network = {.family = nn::NetworkFamily::gpt2,
                    .layers = 2,
                    .heads = 2,
                    .kv_heads = 2,
                    .channels = 16,
                    .hidden = 64,
                    .vocab = 31,
                    .padded_vocab = 32,
                    .context = 8};
  config.tokens = 8;
  config.batch = 1;
  config.seed = 5;
  config.optimizer.learning_rate.peak = 0.01;
  config.optimizer.clip_norm = 0.5;
  return config;
}

// One running rank, for a test's own actions.
struct TestRank {
  int rank = 0;
  Communicator& comm;
  RankRecorder& recorder;
  Engine& engine;
};

struct TestRun {
  EngineConfig engine = tiny_engine();
  int ranks = 2;
  int steps = 3;
  bool uneven = false;  // ranks have different numbers of targets
  // Each rank's communicator may be wrapped, e.g. to count or to delay.
  std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)> wrap{};
  std::function<void(TestRank&, int)> before_step{};  // of step
  std::function<void(TestRank&)> at_end{};
};

// The state of all ranks together, by unit.
struct TestState {
  std::vector<std::vector<float>> master;
  std::vector<std::vector<float>> m;
  std::vector<std::vector<float>> v;
};
struct TestOutcome {
  TestState state;
  std::vector<std::vector<StepResult>> steps;  // by rank
  std::vector<std::string> errors;             // by rank; empty: none
};

// The tokens of row `row` of a step's global batch; they do not depend on the distribution of rows.
inline std::int32_t test_token(std::int64_t step, std::int64_t row, std::int64_t at,
                               std::int64_t vocab) {
  const auto mixed = static_cast<std::uint64_t>((step * 131 + row) * 977 + at * at * 7 + at);
  return static_cast<std::int32_t>((mixed * 0x9E3779B97F4A7C15ULL >> 40U) %
                                   static_cast<std::uint64_t>(vocab));
}

// Micro-batch i of rank r takes rows (i * ranks + r) * batch and following. With `uneven`, row r
// lacks the targets of its first 3 (r mod 3) tokens.
inline Result<StepResult> test_step(Engine& engine, const Communicator& comm, bool uneven) {
  const EngineConfig& config = engine.config();
  const std::int64_t step = engine.cursor().step;
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<nn::MicroBatch> micro_batches;
  for (int i = 0; i < config.micro_batches; ++i) {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    for (std::int64_t b = 0; b < config.batch; ++b) {
      const std::int64_t row = (i * comm.size() + comm.rank()) * config.batch + b;
      for (std::int64_t t = 0; t < config.tokens; ++t) {
        inputs.push_back(test_token(step, row, t, config.network.vocab));
        const bool counted = !uneven || t >= 3 * (row % 3);
        targets.push_back(counted ? test_token(step, row, t + 1, config.network.vocab) : -1);
      }
    }
    texts.push_back(std::move(inputs));
    texts.push_back(std::move(targets));
    micro_batches.push_back(
        {.batch = config.batch,
         .tokens = config.tokens,
         .inputs = texts[texts.size() - 2],
         .targets = texts.back(),
         .dropout_seed = static_cast<std::uint64_t>(step * 1000 + i * comm.size() + comm.rank())});
  }
  return engine.step(micro_batches);
}

inline RecorderOptions recorder_options(const EngineConfig& config, const Communicator& comm) {
  RecorderOptions options{.rank = comm.rank(),
                          .world = comm.size(),
                          .groups = {{"world", comm.size()}},
                          .steps = 64,
                          .collectives = 256};
  for (const nn::Unit& unit : nn::network_units(config.network)) options.units.push_back(unit.name);
  return options;
}

// Copies a rank's extents into the vectors of the whole model. Ranks have different extents.
inline void collect(const TrainingState& state, TestState& into) {
  for (const StateExtent& extent : state.extents) {
    const auto first = static_cast<std::ptrdiff_t>(extent.first);
    std::ranges::copy(extent.master, into.master[extent.unit].begin() + first);
    std::ranges::copy(extent.m, into.m[extent.unit].begin() + first);
    std::ranges::copy(extent.v, into.v[extent.unit].begin() + first);
  }
}

// The reason of the failure; empty: none.
inline std::string train_rank(const TestRun& run, Communicator& comm, TestOutcome& outcome) {
  RankRecorder recorder(recorder_options(run.engine, comm));
  auto engine = Engine::create(run.engine, comm, recorder);
  if (!engine) return engine.error().message();
  TestRank rank{comm.rank(), comm, recorder, **engine};
  auto& steps = outcome.steps[static_cast<std::size_t>(rank.rank)];
  for (int s = 0; s < run.steps; ++s) {
    if (run.before_step) run.before_step(rank, s);
    auto result = test_step(**engine, comm, run.uneven);
    if (!result) return result.error().message();
    steps.push_back(*result);
  }
  if (run.at_end) run.at_end(rank);
  auto state = (*engine)->state();
  if (!state) return state.error().message();
  collect(*state, outcome.state);
  return {};
}

// With room for the final states of the run's ranks.
inline TestOutcome no_outcome(const TestRun& run) {
  TestOutcome outcome;
  outcome.steps.resize(static_cast<std::size_t>(run.ranks));
  outcome.errors.resize(static_cast<std::size_t>(run.ranks));
  for (const nn::Unit& unit : nn::network_units(run.engine.network)) {
    for (auto* part : {&outcome.state.master, &outcome.state.m, &outcome.state.v}) {
      part->emplace_back(static_cast<std::size_t>(unit.count), -1.0F);
    }
  }
  return outcome;
}

inline TestOutcome train_threads(const TestRun& run) {
  TestOutcome outcome = no_outcome(run);
  auto group = make_thread_group(run.ranks);
  if (!group) {
    ADD_FAILURE() << group.error().message();
    return outcome;
  }
  std::vector<std::thread> threads;
  for (auto& comm : *group) {
    threads.emplace_back([&run, &outcome, own = std::move(comm)]() mutable {
      const auto rank = static_cast<std::size_t>(own->rank());
      if (run.wrap) own = run.wrap(std::move(own));
      outcome.errors[rank] = train_rank(run, *own, outcome);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

// The number of values that differ in any bit.
inline std::int64_t differences(const TestState& a, const TestState& b) {
  std::int64_t count = 0;
  const auto compare = [&](const auto& x, const auto& y) {
    EXPECT_EQ(x.size(), y.size());
    for (std::size_t u = 0; u < x.size(); ++u) {
      for (std::size_t i = 0; i < x[u].size(); ++i) {
        const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
        count += bits(x[u][i]) == bits(y[u][i]) ? 0 : 1;
      }
    }
  };
  compare(a.master, b.master);
  compare(a.m, b.m);
  compare(a.v, b.v);
  return count;
}

inline double largest_difference(const TestState& a, const TestState& b) {
  double largest = 0;
  for (std::size_t u = 0; u < a.master.size(); ++u) {
    for (std::size_t i = 0; i < a.master[u].size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a.master[u][i]) -
                                           static_cast<double>(b.master[u][i])));
    }
  }
  return largest;
}

// Writes `from` into the rank's extents, as a checkpoint does.
inline void load(TestRank& rank, const TestState& from, const TrainingCursor& cursor) {
  auto state = rank.engine.state();
  ASSERT_TRUE(state);
  for (const StateExtent& extent : state->extents) {
    const auto copy = [&](const std::vector<std::vector<float>>& values, std::span<float> into) {
      const auto first = values[extent.unit].begin() + static_cast<std::ptrdiff_t>(extent.first);
      std::copy_n(first, into.size(), into.begin());
    };
    copy(from.master, extent.master);
    copy(from.m, extent.m);
    copy(from.v, extent.v);
  }
  ASSERT_TRUE(rank.engine.state_loaded(cursor));
}

inline void expect_no_errors(const TestOutcome& outcome) {
  for (const std::string& error : outcome.errors) EXPECT_EQ(error, "");
}

}  // namespace stepscope::zero
