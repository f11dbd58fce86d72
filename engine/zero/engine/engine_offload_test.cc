// SPDX-License-Identifier: Apache-2.0
// Training with states in files gives the same bits as training in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/zero/drive/disk_test_files.h"
#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

class EngineOffload : public DiskTest {
 protected:
  // On a disk, for O_DIRECT.
  EngineOffload() { dir_ = testing::TempDir() + "stepscope_" + name(); }

  [[nodiscard]] OffloadPlaces dirs(const OffloadParts& parts) const {
    return {.optimizer = parts.optimizer ? dir_ : "",
            .gradients = parts.gradients ? dir_ : "",
            .parameters = parts.parameters ? dir_ : ""};
  }
  // Buffers of some pages, so that units pass in several pieces.
  void offload(TestRun& run, const OffloadParts& parts) const {
    run.engine.offload = dirs(parts);
    run.engine.offload_buffer = {1};
  }
};

std::string text_of(const OffloadParts& parts) {
  return std::string(parts.optimizer ? " optimizer" : "") + (parts.gradients ? " gradients" : "") +
         (parts.parameters ? " parameters" : "");
}

// The parts that a stage can offload, each alone and all together.
std::vector<OffloadParts> parts_at(int stage) {
  std::vector<OffloadParts> all;
  for (const bool optimizer : {false, true}) {
    for (const bool gradients : {false, true}) {
      for (const bool parameters : {false, true}) {
        if ((gradients && stage < 2) || (parameters && stage < 3)) continue;
        if (optimizer || gradients || parameters)
          all.push_back({.optimizer = optimizer, .gradients = gradients, .parameters = parameters});
      }
    }
  }
  return all;
}

TEST_F(EngineOffload, WeightsAndMomentsHaveTheBitsOfMemory) {
  int configurations = 0;
  std::int64_t found = 0;
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    for (const int ranks : {1, 2, 3}) {
      for (const int micro_batches : {1, 2}) {
        TestRun run{.ranks = ranks, .steps = 3, .uneven = true};
        run.engine.type = type;
        run.engine.micro_batches = micro_batches;
        run.engine.network.channels = 32;
        run.engine.network.hidden = 128;
        const TestOutcome memory = train_threads(run);
        expect_no_errors(memory);
        EXPECT_TRUE(memory.steps[0][0].clipped);
        for (int stage = 0; stage <= 3; ++stage) {
          for (const OffloadParts& parts : parts_at(stage)) {
            TestRun files = run;
            files.engine.stage = stage;
            files.engine.recompute = {.kind = nn::Recompute::full};
            offload(files, parts);
            const TestOutcome outcome = train_threads(files);
            expect_no_errors(outcome);
            const std::int64_t here = differences(outcome.state, memory.state);
            EXPECT_EQ(here, 0) << "stage " << stage << ", " << element_name(type) << ", " << ranks
                               << " ranks, in files:" << text_of(parts);
            for (std::size_t s = 0; s < 3; ++s) {
              EXPECT_EQ(outcome.steps[0][s].loss, memory.steps[0][s].loss);
              EXPECT_EQ(outcome.steps[0][s].gradient_norm, memory.steps[0][s].gradient_norm);
            }
            found += here;
            ++configurations;
          }
        }
      }
    }
  }
  std::printf("offload: %d configurations, %lld differences\n", configurations,
              static_cast<long long>(found));
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(EngineOffload, StatesGoFromMemoryToFilesAndBack) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    TestRun run{.ranks = 3, .steps = 4};
    run.engine.type = type;
    const TestOutcome whole = train_threads(run);
    run.steps = 2;
    const TestOutcome half = train_threads(run);
    for (int stage = 0; stage <= 3; ++stage) {
      for (const OffloadParts& parts : parts_at(stage)) {
        // From memory into files.
        TestRun rest = run;
        rest.engine.stage = stage;
        rest.engine.seed = 99;  // different initial values: all values must come from the state
        rest.before_step = [&](TestRank& rank, int step) {
          if (step == 0) load(rank, half.state, {.seed = 5, .step = 2, .updates = 2});
        };
        offload(rest, parts);
        const TestOutcome resumed = train_threads(rest);
        expect_no_errors(resumed);
        EXPECT_EQ(differences(resumed.state, whole.state), 0)
            << "stage " << stage << " " << element_name(type) << text_of(parts);
      }
    }
    // From files into memory.
    TestRun first = run;
    first.engine.stage = 1;
    offload(first, {.optimizer = true});
    const TestOutcome stopped = train_threads(first);
    EXPECT_EQ(differences(stopped.state, half.state), 0);
  }
}

TEST_F(EngineOffload, MasterWeightsAreGatheredFromFiles) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    for (int stage = 0; stage <= 3; ++stage) {
      TestRun run{.ranks = 3, .steps = 1};
      run.engine.stage = stage;
      run.engine.type = type;
      offload(run, parts_at(stage).back());
      std::vector<std::vector<float>> gathered;
      std::int64_t wrong = 0;
      run.at_end = [&](TestRank& rank) {
        for (std::size_t u = 0; u < rank.engine.plan().units.size(); ++u) {
          std::vector<float> unit(static_cast<std::size_t>(rank.engine.plan().units[u].count));
          ASSERT_TRUE(rank.engine.gather_master(u, unit));
          ASSERT_TRUE(rank.engine.with_parameters(u, [&](std::span<const std::byte> bytes) {
            if (rank.rank != 0) return;
            for (std::size_t i = 0; i < unit.size(); ++i) {
              const float value = type == ElementType::f32
                                      ? reinterpret_cast<const float*>(bytes.data())[i]
                                      : to_float(reinterpret_cast<const Bf16*>(bytes.data())[i]);
              wrong += value == (type == ElementType::f32 ? unit[i] : to_float(to_bf16(unit[i])))
                           ? 0
                           : 1;
            }
          }));
          if (rank.rank == 0) gathered.push_back(std::move(unit));
        }
      };
      const TestOutcome outcome = train_threads(run);
      expect_no_errors(outcome);
      EXPECT_EQ(gathered, outcome.state.master) << "stage " << stage;
      EXPECT_EQ(wrong, 0) << "stage " << stage << " " << element_name(type);
    }
  }
}

// A rank's memory and its transfers equal the plan's.
TEST_F(EngineOffload, MemoryAndTransfersAreWhatWasPlanned) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    for (int stage = 0; stage <= 3; ++stage) {
      for (const OffloadParts& parts : parts_at(stage)) {
        TestRun run{.ranks = 2, .steps = 2};
        run.engine.stage = stage;
        run.engine.type = type;
        offload(run, parts);
        run.at_end = [&](TestRank& rank) {
          const Plan& plan = rank.engine.plan();
          const ArenaMemory measured = rank.engine.measured_memory();
          for (std::size_t c = 0; c < arena_class_count; ++c) {
            // The number of simultaneous messages depends on timing.
            if (static_cast<ArenaClass>(c) == ArenaClass::buckets) continue;
            EXPECT_EQ(measured[c], plan.memory[c]) << arena_class_names[c];
          }
          const auto bytes = [&](ArenaClass c) {
            return plan.memory[static_cast<std::size_t>(c)].bytes.value;
          };
          EXPECT_EQ(bytes(ArenaClass::moments) == 0, parts.optimizer);
          EXPECT_EQ(bytes(ArenaClass::gradients) == 0, parts.gradients);
          EXPECT_EQ(bytes(ArenaClass::parameters) == 0, parts.parameters);
          EXPECT_GT(bytes(ArenaClass::offload_buffers), 0);
          EXPECT_TRUE(rank.engine.settle());  // ends the writes
          const RankWindow window = rank.recorder.take_window();
          const auto moved = [&](TransferDirection d) { return window.totals.transfers[slot(d)]; };
          EXPECT_GT(moved(TransferDirection::nvme_to_host).bytes.value, 0);
          EXPECT_GT(moved(TransferDirection::host_to_nvme).bytes.value, 0);
          EXPECT_GT(moved(TransferDirection::nvme_to_host).busy, Ns{});
          for (const StepRecord& step : window.steps)
            EXPECT_EQ(sum(step.activity), step.end - step.begin);
        };
        expect_no_errors(train_threads(run));
      }
    }
  }
}

TEST_F(EngineOffload, ABadPlaceIsNamedByEveryRank) {
  TestRun run{.ranks = 2, .steps = 1};
  run.engine.stage = 1;
  run.engine.offload.optimizer = path("none");
  const TestOutcome outcome = train_threads(run);
  for (const std::string& error : outcome.errors)
    EXPECT_NE(error.find("/none: cannot create the offload file: No such file"), std::string::npos)
        << error;
}

TEST_F(EngineOffload, WhatAStageKeepsWholeCannotBeOffloaded) {
  TestRun run{.ranks = 1, .steps = 1};
  run.engine.stage = 1;
  offload(run, {.gradients = true});
  EXPECT_NE(train_threads(run).errors[0].find("gradients cannot be offloaded at stage 1"),
            std::string::npos);
  run.engine.stage = 2;
  offload(run, {.parameters = true});
  EXPECT_NE(train_threads(run).errors[0].find("parameters cannot be offloaded at stage 2"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
