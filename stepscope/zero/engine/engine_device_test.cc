// SPDX-License-Identifier: Apache-2.0
// Training with states in a device gives the same bits as training in host memory and with files;
// checkpoints too. The device is the tests' (device_test_copies.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/zero/drive/device_test_copies.h"
#include "stepscope/zero/drive/disk_test_files.h"
#include "stepscope/zero/engine/engine.h"
#include "stepscope/zero/engine/engine_test_run.h"
#include "stepscope/zero/engine/trace_recorder.h"

namespace stepscope::zero {
namespace {

class EngineDevice : public DiskTest {
 protected:
  // In the device the given parts; buffers of some pages, so that units pass in several pieces.
  void to_device(TestRun& run, const OffloadParts& parts) {
    run.engine.offload.device = parts;
    run.engine.offload.device_number = 0;
    run.engine.open_device = test_devices(counts_, {.delay = Ns{20'000}});
    run.engine.offload_buffer = {1};
  }
  void TearDown() override {
    EXPECT_EQ(counts_.clashes, 0);
    EXPECT_EQ(counts_.unpinned, 0);
    EXPECT_EQ(counts_.allocated, 0);
    EXPECT_EQ(counts_.pinned, 0);
    DiskTest::TearDown();
  }
  TestDeviceCounts counts_;
};

std::string words(const OffloadParts& parts) {
  return std::string(parts.optimizer ? " optimizer" : "") + (parts.gradients ? " gradients" : "") +
         (parts.parameters ? " parameters" : "");
}

// The parts that a stage can offload, each alone and all together.
std::vector<OffloadParts> choices_at(int stage) {
  std::vector<OffloadParts> all = {{.optimizer = true}};
  if (stage >= 2) all.push_back({.gradients = true});
  if (stage == 3) all.push_back({.parameters = true});
  if (stage >= 2) all.push_back({.optimizer = true, .gradients = true, .parameters = stage == 3});
  return all;
}

TEST_F(EngineDevice, WeightsAndMomentsHaveTheBitsOfMemory) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    for (const int ranks : {1, 2}) {
      TestRun run{.ranks = ranks, .steps = 3, .uneven = true};
      run.engine.type = type;
      run.engine.micro_batches = 2;
      run.engine.network.channels = 32;
      run.engine.network.hidden = 128;
      const TestOutcome memory = train_threads(run);
      expect_no_errors(memory);
      for (int stage = 0; stage <= 3; ++stage) {
        for (const OffloadParts& parts : choices_at(stage)) {
          TestRun device = run;
          device.engine.stage = stage;
          to_device(device, parts);
          const TestOutcome outcome = train_threads(device);
          expect_no_errors(outcome);
          EXPECT_EQ(differences(outcome.state, memory.state), 0)
              << "stage " << stage << ", " << element_name(type) << ", " << ranks
              << " ranks, in the device:" << words(parts);
          for (std::size_t s = 0; s < outcome.steps[0].size(); ++s)
            EXPECT_EQ(outcome.steps[0][s].loss, memory.steps[0][s].loss);
        }
      }
    }
  }
  EXPECT_EQ(counts_.most_at_once, 2U);
}

// Some parts in the device, others in files: four directions, all counted.
TEST_F(EngineDevice, DeviceAndFilesTogether) {
  TestRun run{.ranks = 2, .steps = 3};
  run.engine.type = ElementType::bf16;
  const TestOutcome memory = train_threads(run);
  run.engine.stage = 3;
  to_device(run, {.optimizer = true});
  run.engine.offload.gradients = run.engine.offload.parameters = dir_;
  run.at_end = [&](TestRank& rank) {
    EXPECT_TRUE(rank.engine.state());  // ends the writes
    EXPECT_EQ(device_bytes(rank.engine.plan()) + file_bytes(rank.engine.plan()),
              ShardStores::bytes_for(stored_columns(rank.engine.plan().request),
                                     stored_elements(rank.engine.plan())));
    const RankWindow window = rank.recorder.take_window();
    for (const TransferDirection d :
         {TransferDirection::host_to_device, TransferDirection::device_to_host,
          TransferDirection::host_to_nvme, TransferDirection::nvme_to_host}) {
      const TransferTotals& totals = window.totals.transfers[slot(d)];
      EXPECT_GT(totals.bytes.value, 0) << transfer_direction_names[slot(d)];
      EXPECT_GT(totals.busy, Ns{});
      EXPECT_LE(totals.busy, totals.time);
    }
    // Master, m and v of each step go both ways; and the state that was read.
    const auto bytes = [&](TransferDirection d) {
      return window.totals.transfers[slot(d)].bytes.value;
    };
    EXPECT_GE(bytes(TransferDirection::device_to_host),
              3 * bytes(TransferDirection::host_to_device) / 4);
    Ns at_device{};
    for (const StepRecord& step : window.steps) {
      EXPECT_EQ(sum(step.activity), step.end - step.begin);
      at_device += step.activity[slot(Activity::wait_transfer)];
    }
    EXPECT_GT(at_device, Ns{});
    const auto lines = rank.engine.offload_descriptions();
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_NE(lines[0].find("parameters in a file: "), std::string::npos);
    EXPECT_NE(lines[2].find("optimizer states in device memory: "), std::string::npos);
    EXPECT_NE(lines[2].find("test device"), std::string::npos);
  };
  const TestOutcome outcome = train_threads(run);
  expect_no_errors(outcome);
  EXPECT_EQ(differences(outcome.state, memory.state), 0);
}

TEST_F(EngineDevice, APartHasOnePlace) {
  TestRun run{.ranks = 1, .steps = 1};
  run.engine.stage = 1;
  to_device(run, {.optimizer = true});
  run.engine.offload.optimizer = dir_;
  EXPECT_NE(train_threads(run).errors[0].find("optimizer states have two places"),
            std::string::npos);
}

TEST_F(EngineDevice, TooLittleMemoryIsNamed) {
  TestRun run{.ranks = 1, .steps = 1};
  to_device(run, {.optimizer = true});
  run.engine.open_device = test_devices(counts_, {.most_bytes = 4096});
  EXPECT_NE(train_threads(run).errors[0].find("test device: cannot take "), std::string::npos);
}

// Copies are rows of a trace, in lanes of their own, inside their step, and the thread's time at
// the device is a row.
TEST_F(EngineDevice, CopiesAreRowsOfTheTrace) {
  TestRun run{.ranks = 1, .steps = 2};
  to_device(run, {.optimizer = true});
  std::unique_ptr<TraceRecorder> recorder;
  run.before_step = [&](TestRank& rank, int step) {
    if (step != 0) return;
    recorder = std::make_unique<TraceRecorder>(TraceOptions{}, rank.recorder);
    rank.engine.observe(recorder.get());
    recorder->start();
  };
  run.at_end = [&](TestRank& rank) {
    EXPECT_TRUE(rank.engine.state());
    recorder->stop();
    rank.engine.observe(nullptr);
    const Trace trace = make_trace(TraceOptions{}, recorder->rows());
    std::int64_t to = 0;
    std::int64_t from = 0;
    std::int64_t at_device = 0;
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
      const std::string_view name = trace.strings[trace.slices.name[i]];
      to += name == "copy m to device" ? 1 : 0;
      from += name == "copy m from device" ? 1 : 0;
      at_device += name == "stepscope::device_copy" ? 1 : 0;
      if (name.starts_with("copy ")) {
        EXPECT_GE(trace.slices.dur[i], Ns{20'000});
      }
    }
    EXPECT_GT(to, 0);
    EXPECT_GE(from, to);
    EXPECT_GT(at_device, 0);
  };
  expect_no_errors(train_threads(run));
}

}  // namespace
}  // namespace stepscope::zero
