// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/ddp_buckets.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

constexpr std::string_view hook =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

std::vector<DdpBucket> buckets_of(TestRank rank) {
  TestJob job;
  job.add(0, std::move(rank));
  const RankView& view = job.views()[0];
  const RankCalls calls = find_collective_calls(view);
  return find_ddp_buckets(view, calls, exposed_times(view, calls.calls));
}

// The backward kernel of a gradient, then the bucket's all-reduce, all on thread 1.
void bucket(TestRank& rank, std::int64_t t, std::uint32_t id) {
  TraceBuilder& rows = rank.rows();
  rows.launch(id, t, t + 5);
  rows.kernel("dgrad", t + 100, t + 150, id);
  rows.op(hook, t + 10, t + 40);
  rank.annotate(rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", t + 12, t + 30),
                {.name = "allreduce", .elements = 25});
  rows.launch(id + 1, t + 20, t + 25);
  rank.comm(all_reduce_kernel, t + 155, t + 200, id + 1);
  rows.launch(id + 2, t + 50, t + 55);  // the next layer, after the bucket
  rows.kernel("dgrad", t + 152, t + 180, id + 2);
}

TEST(DdpBuckets, EachAllReduceOfAGradientHookIsABucket) {
  TestRank rank;
  rank.rows().step("ProfilerStep#3", 0, 2000);
  bucket(rank, 0, 1);
  bucket(rank, 1000, 11);
  const auto found = buckets_of(std::move(rank));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].step, 3);
  EXPECT_EQ(found[0].bucket, 0U);
  EXPECT_EQ(found[1].bucket, 1U);
  EXPECT_EQ(found[0].bytes, Bytes{100});
  EXPECT_EQ(found[0].ready, Ns{150});
  EXPECT_EQ(found[0].launched, Ns{20});
  EXPECT_EQ(found[0].done, Ns{200});
  EXPECT_EQ(found[0].exposed, Ns{20});
}

TEST(DdpBuckets, BucketsAreCountedAnewInEachStep) {
  TestRank rank;
  rank.rows().step("ProfilerStep#3", 0, 900);
  rank.rows().step("ProfilerStep#4", 900, 2000);
  bucket(rank, 0, 1);
  bucket(rank, 1000, 11);
  const auto found = buckets_of(std::move(rank));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].step, 4);
  EXPECT_EQ(found[1].bucket, 0U);
}

TEST(DdpBuckets, OtherAllReducesAreNone) {
  TestRank rank;
  rank.rows().op("c10d::allreduce_", 10, 40);
  rank.rows().launch(1, 20, 25);
  rank.comm(all_reduce_kernel, 100, 200, 1);
  EXPECT_TRUE(buckets_of(std::move(rank)).empty());
}

TEST(DdpBuckets, OnACpuTheOperatorLaunchesAndTheBackendsRowIsDone) {
  TestRank rank;
  TraceBuilder& rows = rank.rows();
  rows.step("ProfilerStep#0", 0, 500);
  rows.op("aten::mul", 5, 9);
  rows.op(hook, 10, 40);
  rows.op("torch::distributed::reducer::mul_out", 12, 18);
  rows.op("c10d::allreduce_", 20, 30);
  rows.row(rows.thread(2), Category::user_annotation, "gloo:all_reduce", 35, 300);
  const auto found = buckets_of(std::move(rank));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].ready, Ns{18});
  EXPECT_EQ(found[0].launched, Ns{20});
  EXPECT_EQ(found[0].done, Ns{300});
}

}  // namespace
}  // namespace stepscope
