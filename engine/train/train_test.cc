// SPDX-License-Identifier: Apache-2.0
// Training through the library: ranks are threads of the test.
#include "engine/train/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "engine/zero/checkpoint/checkpoint.h"
#include "engine/zero/drive/disk_test_files.h"
#include "stepscope/base/stop.h"

namespace stepscope {
namespace {

class TrainCall : public zero::DiskTest {
 protected:
  // Two ranks at stage 3, three steps of a small network.
  [[nodiscard]] TrainRequest small() const {
    std::string text;
    for (int i = 0; text.size() < 20'000; ++i) text += std::to_string(i * i) + " is a square. ";
    return {.preset = "llama-tiny",
            .data = {write("text", text)},
            .ranks = 2,
            .batch = 1,
            .sequence = 16,
            .steps = 3,
            .peak = FlopRate{1e11}};
  }
  static std::vector<double> losses(const TrainResult& result) {
    std::vector<double> all;
    for (const TrainStep& step : result.steps) all.push_back(step.loss);
    return all;
  }
};

TEST_F(TrainCall, AccountsForEveryStepOfEachRank) {
  std::vector<std::int64_t> told;
  const auto result =
      train(small(), {.step = [&](const TrainedStep& step) { told.push_back(step.index); }});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->has_results);
  EXPECT_FALSE(result->interrupted);
  EXPECT_EQ(result->setup.ranks, 2);
  EXPECT_EQ(result->setup.zero, 3);
  EXPECT_EQ(result->setup.transport, "threads");
  EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1, 2}));
  ASSERT_EQ(result->steps.size(), 3U);
  for (const TrainStep& step : result->steps) {
    EXPECT_EQ(step.tokens, 2 * 16);
    ASSERT_EQ(step.ranks.size(), 2U);
    for (const TrainRankStep& rank : step.ranks) {
      EXPECT_EQ(std::accumulate(rank.budget.begin(), rank.budget.end(), Ns{}), rank.wall);
      EXPECT_EQ(std::accumulate(rank.phases.begin(), rank.phases.end(), Ns{}), rank.wall);
    }
  }
  EXPECT_FALSE(result->collectives.empty());
  for (const TrainMemory& memory : result->memory)
    EXPECT_EQ(memory.planned, memory.measured) << memory.name;
  // Every figure of the statistics, against links that were measured before step 1.
  ASSERT_TRUE(result->stats);
  const PerformanceSummary& stats = *result->stats;
  EXPECT_EQ(stats.forward_passes, 3U);
  EXPECT_EQ(stats.backward_passes, 3U);
  EXPECT_EQ(stats.optimizer_steps, 3U);
  for (const PassTimes& pass : stats.passes) {
    EXPECT_EQ(pass.count, 6U);  // of two ranks
    EXPECT_TRUE(pass.mean && pass.p50 && pass.p90 && pass.p99);
  }
  EXPECT_GT(stats.gradient_sync_time, Ns{0});
  EXPECT_FALSE(stats.layers.empty());
  EXPECT_TRUE(stats.throughput.tokens_per_second);
  EXPECT_TRUE(stats.communication.efficiency);
  EXPECT_GT(stats.communication.efficiency.value_or(0), 0);
  EXPECT_TRUE(stats.efficiency.mfu);
}

// Calls, their bytes, and the padding in them, of all ranks and steps.
CollectiveTotals gathers_of(const TrainResult& result) {
  for (const CollectiveKindStats& kind : result.stats->communication.kinds)
    if (kind.calls.kind == CollectiveKind::all_gather &&
        kind.calls.purpose == CollectivePurpose::parameters)
      return kind.calls.sum;
  return {};
}

std::int64_t elements_of(const zero::Plan& plan) {
  std::int64_t elements = 0;
  for (const nn::Unit& unit : plan.units) elements += unit.count;
  return elements;
}

// Every message takes 3 ms, so that those of an update outlast it.
TEST_F(TrainCall, CountsTheParametersThatTheLastUpdateSends) {
  for (const int stage : {1, 2, 3}) {
    TrainRequest request = small();
    request.zero = stage;
    request.faults = {{.kind = FaultKind::throttle,
                       .time = std::chrono::milliseconds(3),
                       .rate = ByteRate{1e12}}};
    const auto result = train(request);
    ASSERT_TRUE(result) << result.error().message();
    request.plan_only = true;
    const auto planned = train(request);
    ASSERT_TRUE(planned && planned->plan);
    const auto calls = zero::planned_calls(*planned->plan, CollectiveKind::all_gather);
    const CollectiveTotals sum = gathers_of(*result);
    EXPECT_EQ(static_cast<std::int64_t>(sum.calls), 3 * 2 * calls.calls) << stage;
    EXPECT_EQ(sum.bytes, calls.payload * (3 * 2)) << stage;
    if (stage == 3) continue;
    EXPECT_EQ(sum.bytes - sum.padding, Bytes{3 * 2 * 4 * elements_of(*planned->plan)}) << stage;
  }
}

TEST_F(TrainCall, CountsWhatTheLastUpdateWritesToFiles) {
  const auto moved = [&](const zero::OffloadPlaces& places) {
    TrainRequest request = small();
    request.offload = places;
    std::array<Bytes, transfer_direction_count> bytes{};
    const auto result = train(request);
    EXPECT_TRUE(result) << result.error().message();
    if (!result) return bytes;
    for (const TransferLinkStats& link : result->stats->memory_transfers.links)
      bytes[slot(link.direction)] = link.sum.bytes;
    return bytes;
  };
  TrainRequest plan_only = small();
  plan_only.plan_only = true;
  const auto planned = train(plan_only);
  ASSERT_TRUE(planned && planned->plan);
  const zero::Plan& plan = *planned->plan;
  // The bytes of both ranks in a step: a column of every shard, and the fetched shards, in whole
  // blocks.
  Bytes column{};
  Bytes fetches{};
  const auto blocks = [](std::int64_t elements) {
    return Bytes{
        static_cast<std::int64_t>(zero::offload_aligned(static_cast<std::uint64_t>(4 * elements)))};
  };
  for (const zero::UnitPlace& place : plan.places)
    for (int rank = 0; rank < 2; ++rank) column += blocks(place.layout.shard(rank).shard_size());
  for (const std::size_t unit : plan.step_fetches)
    fetches += blocks(plan.places[unit].layout.stride) * 2;
  const std::string dir = path("offload");
  std::filesystem::create_directory(dir);
  // Three steps read and write both moments.
  const auto optimizer = moved({.optimizer = dir});
  EXPECT_EQ(optimizer[slot(TransferDirection::nvme_to_host)], column * (3 * 2));
  EXPECT_EQ(optimizer[slot(TransferDirection::host_to_nvme)], column * (3 * 2));
  // They also read gradients twice, and parameters for each fetch and for the update.
  const auto all = moved({.optimizer = dir, .gradients = dir, .parameters = dir});
  EXPECT_EQ(all[slot(TransferDirection::nvme_to_host)], (column * 5 + fetches) * 3);
  EXPECT_EQ(all[slot(TransferDirection::host_to_nvme)], column * (3 * 4));
}

TEST_F(TrainCall, GoesOnWhereItWasStopped) {
  const auto whole = train(small());
  ASSERT_TRUE(whole) << whole.error().message();

  StopFlag stop;
  TrainRequest request = small();
  request.checkpoint = path("checkpoints");
  const auto stopped =
      train(request, {.step = [&](const TrainedStep&) { stop.request(); }, .stop = &stop});
  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_TRUE(stopped->has_results);
  ASSERT_GE(stopped->steps.size(), 1U);
  ASSERT_LT(stopped->steps.size(), 3U);
  ASSERT_EQ(stopped->checkpoints.size(), 1U);

  request.resume = true;
  std::vector<TrainNote::Kind> notes;
  const auto rest =
      train(request, {.note = [&](const TrainNote& note) { notes.push_back(note.kind); }});
  ASSERT_TRUE(rest) << rest.error().message();
  EXPECT_EQ(std::ranges::count(notes, TrainNote::Kind::resuming), 1);
  std::vector<double> both = losses(*stopped);
  const std::vector<double> later = losses(*rest);
  both.insert(both.end(), later.begin(), later.end());
  EXPECT_EQ(both, losses(*whole));
}

TEST_F(TrainCall, SaysWhichDamagedCheckpointItSkipsAndNeverStartsAnewBesideOnes) {
  TrainRequest request = small();
  request.checkpoint = path("checkpoints");
  request.checkpoint_every = 1;
  request.steps = 2;
  const auto written = train(request);
  ASSERT_TRUE(written) << written.error().message();
  ASSERT_EQ(written->checkpoints.size(), 2U);
  request.resume = true;
  request.steps = 3;
  std::ofstream(written->checkpoints[1] + "/COMMIT") << "damaged";
  std::vector<std::string> notes;
  ASSERT_TRUE(train(request, {.note = [&](const TrainNote& note) { notes.push_back(note.text); }}));
  ASSERT_GE(notes.size(), 2U);
  EXPECT_EQ(notes[0], "skipping " + written->checkpoints[1] + ": its COMMIT is missing or damaged");
  EXPECT_EQ(notes[1], "going on from " + written->checkpoints[0]);

  for (const std::string& checkpoint : zero::committed_checkpoints(request.checkpoint))
    std::filesystem::remove(checkpoint + "/COMMIT");
  const auto refused = train(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("COMMIT is missing or damaged in all of its"),
            std::string::npos)
      << refused.error().message();
}

// Its COMMIT and its manifest are whole, the state of a rank is not.
TEST_F(TrainCall, GoesOnFromTheCheckpointBeforeOneWhoseStateIsDamaged) {
  TrainRequest request = small();
  request.steps = 4;
  const auto whole = train(request);
  ASSERT_TRUE(whole) << whole.error().message();
  for (const int damaged_rank : {0, 1}) {
    for (const bool cut : {false, true}) {
      request.checkpoint =
          path(std::string("state-") + (cut ? "cut-" : "changed-") + std::to_string(damaged_rank));
      request.checkpoint_every = 1;
      request.steps = 3;
      request.resume = false;
      const auto written = train(request);
      ASSERT_TRUE(written) << written.error().message();
      ASSERT_EQ(written->checkpoints.size(), 3U);
      const std::string state =
          written->checkpoints[2] + "/rank-0000" + std::to_string(damaged_rank) + ".state";
      const auto bytes = std::filesystem::file_size(state);
      if (cut) {
        std::filesystem::resize_file(state, bytes / 2);
      } else {
        std::fstream file(state, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(bytes / 2));
        file.write("damage", 6);
      }
      request.resume = true;
      request.steps = 4;
      std::vector<std::string> notes;
      const auto rest = train(
          request, {.note = [&](const TrainNote& note) {
            if (note.kind == TrainNote::Kind::skipping || note.kind == TrainNote::Kind::resuming)
              notes.push_back(note.text);
          }});
      ASSERT_TRUE(rest) << rest.error().message();
      ASSERT_EQ(notes.size(), 2U);
      EXPECT_TRUE(notes[0].starts_with("skipping " + written->checkpoints[2] + ": ")) << notes[0];
      EXPECT_EQ(notes[1], "going on from " + written->checkpoints[1]);
      ASSERT_EQ(rest->steps.size(), 2U);
      EXPECT_EQ(losses(*rest).back(), losses(*whole).back());
      EXPECT_TRUE(std::filesystem::exists(written->checkpoints[2] + ".damaged"));
    }
  }
}

TEST_F(TrainCall, WithoutDataItTrainsOnTheBuiltInTextAndSaysSo) {
  TrainRequest request = small();
  request.data.clear();
  std::string said;
  const auto result = train(request, {.note = [&](const TrainNote& note) {
                              if (note.kind == TrainNote::Kind::built_in_text) said = note.text;
                            }});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->steps.size(), 3U);
  EXPECT_NE(said.find("built-in text"), std::string::npos);
  request.batch = 4'000;
  const auto too_large = train(request);
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.error().message().find("the built-in text: rank 0: too few tokens"),
            std::string::npos)
      << too_large.error().message();
}

TEST_F(TrainCall, APlanNeedsNoData) {
  TrainRequest request = small();
  request.data.clear();
  request.plan_only = true;
  const auto result = train(request);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->plan);
  EXPECT_EQ(result->plan->request.stage, 3);
  EXPECT_EQ(result->plan->request.world_size, 2);
  EXPECT_TRUE(result->steps.empty());
}

// Ranks beyond those that a machine can start.
TEST_F(TrainCall, APlanIsArithmeticForAnyNumberOfRanks) {
  TrainRequest request = small();
  request.data.clear();
  request.plan_only = true;
  request.transport = "shm";
  request.ranks = 100'000;
  request.plan_rank = 99'999;
  const auto result = train(request);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->plan);
  EXPECT_EQ(result->plan->request.world_size, 100'000);
  EXPECT_EQ(result->plan->request.rank, 99'999);
  EXPECT_TRUE(result->plan_of_one_rank);
  const auto message = [&](int ranks, int rank) {
    request.ranks = ranks;
    request.plan_rank = rank;
    const auto refused = train(request);
    return refused ? std::string() : refused.error().message();
  };
  EXPECT_EQ(message(4, 4), "--plan-rank 4: there are 4 ranks; give 0 to 3");
  EXPECT_EQ(message((1 << 20) + 1, 0), "--ranks 1048577 is out of its range; give 1 to 1048576");
}

TEST_F(TrainCall, TooManyRanksForAMachineAreRefusedBeforeAnyIsStarted) {
  TrainRequest request = small();
  request.ranks = 1025;
  const auto refused = train(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(refused.error().message(),
            "--ranks 1025 is out of its range; give 1 to 1024; --plan-only plans more");
}

TEST_F(TrainCall, GeneratedTextGoesOnFromThePrompt) {
  TrainRequest request = small();
  request.steps = 1;
  request.generate = 4;
  request.prompt = "16 is ";
  const auto result = train(request);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->generated.starts_with(request.prompt));
  EXPECT_GT(result->generated.size(), request.prompt.size());
}

TEST_F(TrainCall, RequestsThatCannotBeNameARemedy) {
  const auto refusal = [&](auto change) {
    TrainRequest request = small();
    change(request);
    const auto result = train(request);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().code, ErrorCode::refused);
    EXPECT_FALSE(result.error().hint.empty()) << result.error().message();
    return result.error().message();
  };
  using R = TrainRequest;
  EXPECT_NE(refusal([](R& r) { r.preset = "gpt2-tinny"; }).find("gpt2-tiny"), std::string::npos);
  EXPECT_NE(refusal([](R& r) { r.zero = 4; }).find("--zero 4"), std::string::npos);
  EXPECT_NE(refusal([](R& r) { r.batch = 0; }).find("--batch 0"), std::string::npos);
  EXPECT_NE(refusal([](R& r) { r.learning_rate = -1; }).find("--lr"), std::string::npos);
  EXPECT_NE(refusal([](R& r) { r.resume = true; }).find("--checkpoint"), std::string::npos);
  EXPECT_NE(refusal([](R& r) { r.transport = "mpi"; }).find("mpirun"), std::string::npos);
  EXPECT_NE(
      refusal([](R& r) { r.faults = {{.kind = FaultKind::kill, .rank = 1}}; }).find("processes"),
      std::string::npos);
}

TEST_F(TrainCall, OutputsWithoutADirectoryStopItBeforeTheFirstStep) {
  TrainRequest request = small();
  request.outputs = {path("missing/train.json")};
  int steps = 0;
  const auto result = train(request, {.step = [&](const TrainedStep&) { ++steps; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::failed);
  EXPECT_EQ(result.error().file, request.outputs.front());
  EXPECT_EQ(steps, 0);
}

TEST(TraceSchedule, CountsAsTheProfilersSchedule) {
  const TraceSchedule s{.wait = 2, .warmup = 1, .active = 3, .repeat = 2};
  std::string recorded;
  for (int step = 0; step < 15; ++step) recorded += s.records(step) ? 'x' : '.';
  EXPECT_EQ(recorded, "...xxx...xxx...");
  EXPECT_TRUE((TraceSchedule{.wait = 0, .warmup = 0, .active = 1, .repeat = 0}).records(1000));
}

}  // namespace
}  // namespace stepscope
