// SPDX-License-Identifier: Apache-2.0
// The device tier on a CUDA device: bytes, times, errors, training and checkpoints. Skipped where
// no device can be used.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stepscope/telemetry/fast_clock.h"
#include "stepscope/zero/drive/cuda_device.h"
#include "stepscope/zero/drive/device_store.h"
#include "stepscope/zero/drive/disk_test_files.h"
#include "stepscope/zero/engine/engine_test_run.h"
#include "tests/program/program.h"

namespace stepscope::zero {
namespace {

class Cuda : public DiskTest {
 protected:
  void SetUp() override {
    const auto devices = cuda_devices();
    if (!devices) GTEST_SKIP() << "no CUDA device can be used: " << devices.error().message();
    DiskTest::SetUp();
  }
};

void fill_bytes(std::span<std::byte> bytes, std::uint32_t seed) {
  for (std::byte& b : bytes)
    b = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24U);
}

// A pinned buffer.
struct Pinned {
  OffloadBuffer buffer;
  PinnedMemory pin;
  Pinned(Device& device, std::size_t bytes) : buffer(bytes) {
    auto done = PinnedMemory::pin(device, buffer.bytes());
    EXPECT_TRUE(done) << done.error().message();
    if (done) pin = *std::move(done);
  }
};

TEST_F(Cuda, EveryByteArrivesAndMemoryBeginsWithZeros) {
  auto device = open_cuda_device(0, 4);
  ASSERT_TRUE(device) << device.error().message();
  constexpr std::size_t block = 16 << 20;
  auto store = DeviceStore::create(**device, Bytes{4 * block});
  ASSERT_TRUE(store) << store.error().message();
  std::printf("%s\n", store->description().c_str());
  Pinned in(**device, block);
  fill_bytes(in.buffer.bytes(), 1);
  auto ticket = store->read(block, in.buffer.bytes());
  ASSERT_TRUE(ticket && store->wait(*ticket));
  EXPECT_TRUE(
      std::ranges::all_of(in.buffer.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  std::vector<std::unique_ptr<Pinned>> out;
  std::vector<OffloadTicket> tickets;
  for (std::uint32_t i = 0; i < 4; ++i) {
    out.push_back(std::make_unique<Pinned>(**device, block));
    fill_bytes(out[i]->buffer.bytes(), i + 7);
    auto written = store->write(i * block, out[i]->buffer.bytes());
    ASSERT_TRUE(written) << written.error().message();
    tickets.push_back(*written);
  }
  for (const std::size_t i : {2U, 0U, 3U, 1U}) EXPECT_TRUE(store->wait(tickets[i]));
  for (std::size_t i = 0; i < 4; ++i) {
    ticket = store->read(i * block, in.buffer.bytes());
    ASSERT_TRUE(ticket);
    while (!store->test(*ticket)) std::this_thread::yield();
    ASSERT_TRUE(store->wait(*ticket));
    EXPECT_TRUE(std::ranges::equal(in.buffer.bytes(), out[i]->buffer.bytes())) << i;
  }
}

// Over more than two renewals of the reference event, a copy lies between its submission and its
// end, lasts about as long as its neighbours, and copies of a queue follow one another.
TEST_F(Cuda, InstantsAreOnTheHostsClock) {
  auto device = open_cuda_device(0, 4);
  ASSERT_TRUE(device) << device.error().message();
  constexpr std::size_t block = 8 << 20;
  auto store = DeviceStore::create(**device, Bytes{2 * block});
  ASSERT_TRUE(store);
  Pinned a(**device, block);
  Pinned b(**device, block);
  std::vector<double> times;
  const Ns first = host_now();
  while (host_now() - first < Ns{2'500'000'000}) {
    const Ns before = host_now();
    const auto one = store->write(0, a.buffer.bytes());
    const auto two = store->write(block, b.buffer.bytes());
    ASSERT_TRUE(one && two);
    const auto x = store->wait(*one);
    const auto y = store->wait(*two);
    ASSERT_TRUE(x && y);
    EXPECT_LE(before, x->begin);
    EXPECT_LT(x->begin, x->end);
    EXPECT_LE(x->end, y->begin + Ns{1000});
    EXPECT_LT(y->begin, y->end);
    EXPECT_LE(y->end, host_now());
    times.push_back(static_cast<double>((y->end - y->begin).count()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  std::printf("8 MiB to the device: median %.0f us, %.1f GB/s\n", median / 1000,
              static_cast<double>(block) / median);
  // A reference of another clock would shift or stretch them.
  EXPECT_GT(times[times.size() / 10], median / 2);
}

TEST_F(Cuda, BothDirectionsOverlap) {
  auto device = open_cuda_device(0, 4);
  ASSERT_TRUE(device) << device.error().message();
  constexpr std::size_t block = 64 << 20;
  auto store = DeviceStore::create(**device, Bytes{2 * block});
  ASSERT_TRUE(store);
  Pinned out(**device, block);
  Pinned in(**device, block);
  const auto write = store->write(0, out.buffer.bytes());
  const auto read = store->read(block, in.buffer.bytes());
  ASSERT_TRUE(write && read);
  const auto x = store->wait(*write);
  const auto y = store->wait(*read);
  ASSERT_TRUE(x && y);
  const Ns shared = std::min(x->end, y->end) - std::max(x->begin, y->begin);
  std::printf("64 MiB each way: %lld us to, %lld us from the device, %lld us of them at once\n",
              static_cast<long long>((x->end - x->begin).count() / 1000),
              static_cast<long long>((y->end - y->begin).count() / 1000),
              static_cast<long long>(shared.count() / 1000));
  EXPECT_GT(shared, (x->end - x->begin) / 2);
}

TEST_F(Cuda, ErrorsNameTheDeviceAndARemedy) {
  const int devices = *cuda_devices();
  const auto none = open_cuda_device(devices, 1);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("there is no CUDA device " + std::to_string(devices)),
            std::string::npos);
  auto device = open_cuda_device(0, 1);
  ASSERT_TRUE(device);
  const auto store = DeviceStore::create(**device, Bytes{1LL << 50});
  ASSERT_FALSE(store);
  for (const char* part : {"CUDA device 0 (", "cannot take 1125899906842624 bytes", " are free)",
                           "CUDA_ERROR_OUT_OF_MEMORY", "--offload"})
    EXPECT_NE(store.error().message().find(part), std::string::npos) << store.error().message();
}

TEST_F(Cuda, TrainingHasTheBitsOfMemory) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    TestRun run{.ranks = 2, .steps = 3, .uneven = true};
    run.engine.type = type;
    run.engine.micro_batches = 2;
    const TestOutcome memory = train_threads(run);
    expect_no_errors(memory);
    for (int stage = 0; stage <= 3; ++stage) {
      TestRun device = run;
      device.engine.stage = stage;
      device.engine.offload.device = {
          .optimizer = true, .gradients = stage >= 2, .parameters = stage == 3};
      device.engine.offload_buffer = {1};
      const TestOutcome outcome = train_threads(device);
      expect_no_errors(outcome);
      EXPECT_EQ(differences(outcome.state, memory.state), 0)
          << "stage " << stage << ", " << element_name(type);
      for (std::size_t s = 0; s < outcome.steps[0].size(); ++s)
        EXPECT_EQ(outcome.steps[0][s].loss, memory.steps[0][s].loss);
    }
  }
}

// The program: ranks as processes, in memory, with files and on the device, each with checkpoints,
// then one that goes on. Losses and checkpoints are equal, and all six directions have bytes.
TEST_F(Cuda, TheProgramMovesBytesInAllSixDirections) {
  const program::ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "the cat sat on mat " + std::to_string(i * i) + "\n";
  const auto train = [&](const std::string& name, std::vector<std::string> flags) {
    std::vector<std::string> words = {"train",
                                      "--data",
                                      write("text.txt", text),
                                      "--preset",
                                      "llama-tiny",
                                      "--ranks",
                                      "2",
                                      "--zero",
                                      "3",
                                      "--dtype",
                                      "bf16",
                                      "--micro-batch",
                                      "2",
                                      "--seq",
                                      "32",
                                      "--quiet",
                                      "--peak-tflops",
                                      "0.1",
                                      "--checkpoint-every",
                                      "2",
                                      "--checkpoint",
                                      folder.file(name),
                                      "--json",
                                      folder.file(name + ".json")};
    words.insert(words.end(), flags.begin(), flags.end());
    const program::Outcome outcome = program::run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    std::ifstream in(folder.file(name + ".json"));
    return nlohmann::json::parse(in, nullptr, false);
  };
  const nlohmann::json memory = train("memory", {"--steps", "4"});
  const std::vector<std::string> tiers = {"--offload-device", "optimizer,parameters", "--offload",
                                          "gradients:" + dir_};
  std::vector<std::string> flags = tiers;
  const std::string traces = folder.file("traces");
  flags.insert(flags.end(), {"--steps", "4", "--trace", traces, "--trace-steps", "1,0,3,1"});
  const nlohmann::json device = train("device", flags);
  flags = tiers;
  flags.insert(flags.end(), {"--steps", "6", "--resume"});
  const nlohmann::json resumed = train("device", flags);
  ASSERT_TRUE(memory.is_object() && device.is_object() && resumed.is_object());
  ASSERT_EQ(memory["steps"].size(), 4U);
  for (std::size_t s = 0; s < 4; ++s)
    EXPECT_EQ(memory["steps"][s]["loss"], device["steps"][s]["loss"]) << s;
  for (const char* file : {"/step-00000004/rank-00000.state", "/step-00000004/rank-00001.state",
                           "/step-00000004/manifest.json"})
    EXPECT_TRUE(bytes_of(folder.file("memory") + file) == bytes_of(folder.file("device") + file))
        << file;
  // The traces account for the time at device and files to the nanosecond, like the run.
  const program::Analysis analysis = program::analyze({traces});
  ASSERT_EQ(analysis.outcome.exit_code, 0) << analysis.outcome.errors;
  std::map<std::pair<int, std::int64_t>, std::int64_t> counted;
  for (const nlohmann::json& row : device["rank_steps"])
    counted[{row["rank"], row["index"]}] = row["budget_ns"]["copy_exposed"];
  std::int64_t copying = 0;
  for (const nlohmann::json& rank : analysis.json["ranks"]) {
    for (const nlohmann::json& step : rank["steps"]) {
      EXPECT_EQ(step["budget_ns"]["copy_exposed"], counted.at({rank["rank"], step["index"]}));
      copying += step["budget_ns"]["copy_exposed"].get<std::int64_t>();
    }
  }
  EXPECT_GT(copying, 0);
  std::vector<std::string> used;
  for (const nlohmann::json& link : resumed["stats"]["memory_transfers"]["links"]) {
    EXPECT_GT(link["bytes"].get<std::int64_t>(), 0);
    EXPECT_GT(link["gb_per_s"].get<double>(), 0);
    used.push_back(link["direction"]);
    std::printf("%s: %s\n", used.back().c_str(), link.dump().c_str());
  }
  EXPECT_EQ(used, std::vector<std::string>(transfer_direction_names.begin(),
                                           transfer_direction_names.end()));
}

// The library in the driver's place must be what was found, or the test above shows nothing.
TEST_F(Cuda, TheDriverIsTheOneThatWasMeant) {
  const auto device = open_cuda_device(0, 1);
  ASSERT_TRUE(device);
  const bool of_tests = (*device)->name().find("host memory of the tests") != std::string::npos;
  EXPECT_EQ(of_tests, std::getenv("STEPSCOPE_DRIVER_OF_TESTS") != nullptr);
}

}  // namespace
}  // namespace stepscope::zero
