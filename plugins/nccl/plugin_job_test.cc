// SPDX-License-Identifier: Apache-2.0
// Jobs of several ranks. Their files are read and analysed like those of any job; the results must
// equal the planted values. The GPUs' times are synthetic, so nothing depends on the machine's
// load.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nccl/plugin_test_driver.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope::nccl::test {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;

// Ranks of one process. Each has a communicator of the world and a GPU whose timer has another
// offset.
template <int V>
struct Job {
  Job(const Library& library, int ranks) {
    for (int r = 0; r < ranks; ++r)
      players.push_back(std::make_unique<Player<V>>(library, 0xabc, ranks, r));
    for (int r = 0; r < ranks; ++r) players[static_cast<std::size_t>(r)]->calibrate(offset(r));
  }
  static std::int64_t offset(int rank) { return 5'000'000'000 * (rank + 1); }
  // Rank `r` runs `call` on its device from `from` to `to`; both are on the host's clock.
  static void run(Player<V>& player, int r, const Call& call, std::int64_t from, std::int64_t to) {
    void* handle = call.seq == ~0ULL ? player.p2p(call) : player.coll(call);
    player.stop(handle);
    for (std::uint8_t c = 0; c < call.channels; ++c)
      player.kernel(handle, c, static_cast<std::uint64_t>(from + offset(r) + c * 100),
                    static_cast<std::uint64_t>(to + offset(r) - c * 100));
  }
  void finalize() {
    for (auto& player : players) player->finalize();
  }
  std::vector<std::unique_ptr<Player<V>>> players;
};

JobResult analysed(Run& run) {
  std::vector<RankInput> inputs;
  for (RankTrace& rank : run.ranks) inputs.push_back({rank.rank, &rank.trace});
  return analyze_job(inputs);
}

const CollectiveRow* row_of(const JobResult& job, CollectiveKind kind) {
  for (const CollectiveRow& row : job.collectives.rows)
    if (row.kind == kind) return &row;
  return nullptr;
}

// In each all-reduce rank 1 arrives `late` after the others. All leave 2 ms later.
template <int V>
void expect_planted_waits(int ranks) {
  Scratch scratch;
  const Library library;
  Job<V> job(library, ranks);
  constexpr int calls = 20;
  const std::int64_t first = now_ns() - 900 * ms;
  std::int64_t wait = 0;
  for (int i = 0; i < calls; ++i) {
    const std::int64_t late = (1 + i % 3) * ms;
    wait += late * (ranks - 1);
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t begin = first + i * 20 * ms;
      job.run(*job.players[static_cast<std::size_t>(r)], r,
              {.count = 1 << 18, .seq = static_cast<std::uint64_t>(i)}, begin + (r == 1 ? late : 0),
              begin + late + 2 * ms);
    }
  }
  job.finalize();
  const auto files = scratch.files();
  ASSERT_EQ(files.size(), static_cast<std::size_t>(ranks));
  auto run = read_run(files, {});
  EXPECT_TRUE(run.errors.empty());
  ASSERT_EQ(run.ranks.size(), static_cast<std::size_t>(ranks));
  const JobResult result = analysed(run);
  EXPECT_TRUE(result.collectives.matches.mismatches.empty());
  ASSERT_EQ(result.collectives.rows.size(), 1U);
  const CollectiveRow& row = result.collectives.rows[0];
  EXPECT_EQ(row.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(row.matched, static_cast<std::uint64_t>(calls));
  EXPECT_EQ(row.split, static_cast<std::uint64_t>(calls));
  EXPECT_EQ(row.group_size, ranks);
  EXPECT_EQ(row.bytes, Bytes{4 << 18});
  EXPECT_EQ(row.last_rank, 1);
  ASSERT_TRUE(row.wait && row.transfer);
  // A GPU's clock may be off by 20 us for each rank and call.
  EXPECT_NEAR(static_cast<double>(row.wait->count()), static_cast<double>(wait),
              static_cast<double>(2 * 20 * us * ranks * calls));
  EXPECT_NEAR(static_cast<double>(row.transfer->count()), static_cast<double>(calls * 2 * ms),
              static_cast<double>(2 * 20 * us * calls));
  for (const RankResult& rank : result.ranks) {
    EXPECT_FALSE(rank.recording.has_launch_rows());
    ASSERT_EQ(rank.work.kernels.classes.size(), 1U);
    EXPECT_EQ(rank.work.kernels.classes[0].kind, NameClass::communication);
  }
}

TEST(PluginJob, WaitsAndTransfersOfTwoRanksAreThosePlanted) { expect_planted_waits<4>(2); }
TEST(PluginJob, WaitsAndTransfersOfFourRanksAreThosePlanted) { expect_planted_waits<5>(4); }
TEST(PluginJob, WaitsAndTransfersOfEightRanksAreThosePlanted) { expect_planted_waits<6>(8); }

// Two pairs and the world, with one process per rank as a launcher would start them. Each rank
// knows only its own place in a group; the groups' ranks must be found.
TEST(PluginJob, SubgroupsAreJoinedOverTheRanks) {
  Scratch scratch;
  scratch.set("WORLD_SIZE", "4");
  scratch.set("NCCL_ALLGATHERV_ENABLE", "0");  // broadcasts leave the times of calls right
  const std::int64_t first = now_ns() - 500 * ms;
  for (int r = 0; r < 4; ++r) {
    scratch.set("RANK", std::to_string(r));
    const Library library;
    // Ranks 0 and 2 are one pair, 1 and 3 the other; the later rank comes first within each.
    Player<6> pair(library, r % 2 == 0 ? 0x100 : 0x200, 2, r < 2 ? 1 : 0, "pair");
    Player<6> world(library, 0x300, 4, r);
    world.calibrate(Job<6>::offset(r));
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::int64_t begin = first + static_cast<std::int64_t>(i) * 10 * ms;
      Job<6>::run(world, r, {.seq = i}, begin, begin + ms);
      Job<6>::run(pair, r, {.function = "Broadcast", .root = 1, .seq = i}, begin + 2 * ms,
                  begin + 3 * ms);
    }
    pair.finalize();
    world.finalize();
  }
  auto run = read_run(scratch.files(), {});
  ASSERT_EQ(run.ranks.size(), 4U);
  const JobResult result = analysed(run);
  const CollectiveMatches& matches = result.collectives.matches;
  EXPECT_TRUE(matches.mismatches.empty());
  int broadcasts = 0;
  for (const MatchedCollective& m : matches.matched) {
    if (m.kind != CollectiveKind::broadcast) continue;
    ++broadcasts;
    EXPECT_TRUE(m.complete);
    const std::vector<int>& ranks = matches.groups[m.group].ranks;
    ASSERT_TRUE(ranks == (std::vector{2, 0}) || ranks == (std::vector{3, 1}));
    for (const CollectiveMember& member : matches.members_of(m))
      EXPECT_EQ(matches.call(member).root, ranks[1]);
  }
  EXPECT_EQ(broadcasts, 12);
}

TEST(PluginJob, SendsFindTheirReceives) {
  Scratch scratch;
  const Library library;
  Job<6> job(library, 2);
  const std::int64_t first = now_ns() - 500 * ms;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t begin = first + i * 10 * ms;
    job.run(*job.players[0], 0, {.function = "Send", .root = 1, .seq = ~0ULL}, begin,
            begin + 4 * ms);
    job.run(*job.players[1], 1, {.function = "Recv", .root = 0, .seq = ~0ULL}, begin + 3 * ms,
            begin + 4 * ms);
  }
  job.finalize();
  auto run = read_run(scratch.files(), {});
  const JobResult result = analysed(run);
  const CollectiveRow* row = row_of(result, CollectiveKind::send_recv);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->matched, 10U);
  ASSERT_TRUE(row->wait.has_value());
  EXPECT_NEAR(static_cast<double>(row->wait->count()), 30e6, 2e6);
}

}  // namespace
}  // namespace stepscope::nccl::test
