// SPDX-License-Identifier: Apache-2.0
// A job of two processes in one export: steps from ranges, NCCL collectives matched by
// communicator, waits, and bytes equal to the payloads.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/read/nsys/nsys_test_export.h"

namespace stepscope {
namespace {

using test::NsysBuilder;

constexpr std::int64_t communicator = 0x77;
constexpr int steps = 3;
constexpr std::int64_t reduced = 4096;    // bytes of an all-reduce
constexpr std::int64_t gathered = 1000;   // a rank's input to an all-gather
constexpr std::int64_t length = 100'000;  // of a step, ns

std::string u64(std::int64_t v) { return NsysBuilder::little_endian(v, 8); }
std::string i32(std::int64_t v) { return NsysBuilder::little_endian(v, 4); }

// Rank 1 is 5 us late to each all-reduce.
void add_rank(NsysBuilder& b, int rank) {
  const std::int64_t pid = 10 + rank;
  int correlation = 1;
  b.nccl(1, 50, "ncclCommInitRankConfig", 11, u64(communicator) + i32(2) + i32(rank) + u64(0), pid);
  for (int step = 0; step < steps; ++step) {
    const std::int64_t t = 1000 + step * length;
    const std::int64_t late = rank == 1 ? 5000 : 0;
    b.range(t, t + 90'000, "iteration " + std::to_string(step), pid);
    b.range(t + 100, t + 20'000, "forward", pid);
    b.call(t + 200, t + 1200, correlation, "cudaLaunchKernel_v7000", pid);
    b.kernel(t + 2000, t + 20'000 + late, correlation++, "ampere_sgemm_128x64_tn", pid, rank);
    b.nccl(t + 3000, t + 6000, "ncclAllReduce", 5, u64(communicator) + u64(reduced) + u64(0), pid);
    b.call(t + 4000, t + 5000, correlation, "cuLaunchKernelEx", pid);
    b.kernel(t + 20'000 + late, t + 40'000, correlation++,
             "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", pid, rank, 20);
    b.nccl(t + 7000, t + 9000, "ncclAllGather", 4, u64(communicator) + u64(gathered), pid);
    b.call(t + 8000, t + 8500, correlation, "cuLaunchKernelEx", pid);
    b.kernel(t + 50'000, t + 60'000, correlation++,
             "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)", pid, rank, 20);
  }
}

TEST(NsysJob, CollectivesStepsAndWaitsComeOutOfOneExport) {
  NsysBuilder b;
  b.session();
  add_rank(b, 0);
  add_rank(b, 1);
  std::vector<Trace> traces = b.traces();
  ASSERT_EQ(traces.size(), 2u);
  std::vector<RankInput> ranks;
  for (Trace& trace : traces) ranks.push_back({*trace.metadata.rank, &trace});
  JobOptions options;
  options.world_size = 2;
  const JobResult job = analyze_job(ranks, options);

  ASSERT_EQ(job.steps.common.size(), static_cast<std::size_t>(steps));
  for (const RankResult& rank : job.ranks) {
    ASSERT_EQ(rank.steps.size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(rank.steps[1].name, "iteration 1");
  }
  const CollectiveMatches& matches = job.collectives.matches;
  EXPECT_TRUE(matches.mismatches.empty());
  ASSERT_EQ(matches.matched.size(), static_cast<std::size_t>(2 * steps));
  std::map<CollectiveKind, std::int64_t> bytes;
  for (const MatchedCollective& matched : matches.matched) {
    EXPECT_TRUE(matched.complete);
    EXPECT_EQ(matches.groups[matched.group].name, "0x77");
    for (const CollectiveMember member : matches.members_of(matched)) {
      const CollectiveCall& call = matches.call(member);
      ASSERT_TRUE(call.bytes);
      bytes[call.kind] += call.bytes->value;
    }
  }
  EXPECT_EQ(bytes[CollectiveKind::all_reduce], 2 * steps * reduced);
  // A rank's input times the ranks of its communicator.
  EXPECT_EQ(bytes[CollectiveKind::all_gather], 2 * steps * 2 * gathered);

  const auto waited = [&](std::size_t rank) {
    return job.ranks[rank].budget.total[BudgetCategory::comm_exposed_wait].count();
  };
  EXPECT_EQ(waited(0), steps * 5000);
  EXPECT_EQ(waited(1), 0);
}

}  // namespace
}  // namespace stepscope
