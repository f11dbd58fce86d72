// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/transfers.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

// Three groups of two ranks that all-reduce the same bytes; the times of their transfers in ns.
Collectives three_groups(const std::vector<std::int64_t>& times) {
  static const std::array<std::string, 3> names = {"tp0", "tp1", "tp2"};
  static const std::array<std::string, 3> members = {"[0, 1]", "[2, 3]", "[4, 5]"};
  std::vector<TestRank> ranks(6);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (int i = 0; i < 4; ++i) {
      const std::int64_t t = 10'000 * i;
      ranks[r].all_reduce(t, t + times[r / 2],
                          {.group = names[r / 2], .ranks = members[r / 2], .seq = i});
    }
  return analyze_collectives(TestJob(std::move(ranks)).views());
}

TEST(GroupRates, AGroupIsComparedWithTheMiddleOfItsSiblings) {
  const auto rates = group_rates(three_groups({1000, 4000, 2000}));
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_EQ(rates[0].bytes, Bytes{4000});
  EXPECT_EQ(rates[0].count, 4U);
  EXPECT_EQ(rates[0].transfer, Ns{1000});
  EXPECT_DOUBLE_EQ(rates[0].busbw->value, 4000 / 1000e-9);
  // The lower middle of the two others.
  EXPECT_DOUBLE_EQ(*rates[0].of_siblings, 2.0);
  EXPECT_DOUBLE_EQ(*rates[1].of_siblings, 0.25);
  EXPECT_DOUBLE_EQ(*rates[2].of_siblings, 0.5);
}

TEST(GroupRates, EqualGroupsAreAsFastAsTheirSiblings) {
  for (const GroupRate& r : group_rates(three_groups({1000, 1000, 1000})))
    EXPECT_DOUBLE_EQ(*r.of_siblings, 1.0);
}

TEST(GroupRates, AGroupWithoutSiblingsIsNotCompared) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) rank.all_reduce(0, 1000, {.seq = 1});
  const auto rates = group_rates(analyze_collectives(TestJob(std::move(ranks)).views()));
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_FALSE(rates[0].of_siblings);
}

TEST(GroupRates, OfManySizesTheLongestAreListed) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks)
    for (int i = 0; i < 12; ++i) {
      const std::int64_t t = 10'000 * i;
      rank.all_reduce(t, t + 100 * (i + 1), {.elements = 10 * (i + 1), .seq = i});
    }
  const auto rates = group_rates(analyze_collectives(TestJob(std::move(ranks)).views()));
  ASSERT_EQ(rates.size(), most_group_sizes);
  EXPECT_EQ(rates.front().transfer, Ns{1200});
  EXPECT_EQ(rates.back().transfer, Ns{500});
}

TEST(MessageLatency, IsTheInterceptOfTheSmallestAndTheLargestSize) {
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}, {2000, Ns{19'000}}, {11'000, Ns{32'000}}}), Ns{10'000});
}

TEST(MessageLatency, IsUnknownFromOneSizeOrSizesThatAreAlike) {
  EXPECT_EQ(latency_of({}), std::nullopt);
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}}), std::nullopt);
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}, {1999, Ns{12'001}}}), std::nullopt);
}

TEST(MessageLatency, IsNeverNegativeAndNeverMoreThanTheSmallestMessageTakes) {
  EXPECT_EQ(latency_of({{1000, Ns{1000}}, {4000, Ns{9000}}}), Ns{0});
  EXPECT_EQ(latency_of({{1000, Ns{9000}}, {4000, Ns{1000}}}), Ns{9000});
}

NamedAlgorithm of_all_reduce(std::string_view kernel) {
  return named_algorithm(kernel, CollectiveKind::all_reduce);
}

TEST(KernelAlgorithm, NewerNamesTellATreeFromTheRest) {
  EXPECT_EQ(of_all_reduce("ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage)"),
            NamedAlgorithm::tree);
  EXPECT_EQ(of_all_reduce("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)"),
            NamedAlgorithm::not_tree);
  EXPECT_EQ(of_all_reduce("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
            NamedAlgorithm::unknown);
  EXPECT_EQ(of_all_reduce("ncclDevKernel_Generic_4(ncclDevKernelArgs4K)"), NamedAlgorithm::unknown);
  // All of them are called RING, whatever algorithm ran.
  EXPECT_EQ(named_algorithm("ncclDevKernel_AllGather_RING_LL(x)", CollectiveKind::all_gather),
            NamedAlgorithm::unknown);
  EXPECT_EQ(named_algorithm("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)",
                            CollectiveKind::reduce_scatter),
            NamedAlgorithm::unknown);
}

TEST(KernelAlgorithm, OlderNamesTellTheAlgorithm) {
  EXPECT_EQ(of_all_reduce("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)"),
            NamedAlgorithm::ring);
  EXPECT_EQ(of_all_reduce("ncclKernel_AllReduce_TREE_LL_Sum_half(ncclWorkElem)"),
            NamedAlgorithm::tree);
  EXPECT_EQ(of_all_reduce("ncclKernel_AllReduce_NVLS_LL_Sum___nv_bfloat16"),
            NamedAlgorithm::in_switch);
  EXPECT_EQ(of_all_reduce("ncclKernel_AllReduce_NVLS_TREE_LL_Sum_float"),
            NamedAlgorithm::in_switch);
  EXPECT_EQ(of_all_reduce("ncclKernel_AllReduce_COLLNET_CHAIN_LL_Sum_float"),
            NamedAlgorithm::in_switch);
  EXPECT_EQ(of_all_reduce("ncclAllReduce_TREE_LL128"), NamedAlgorithm::tree);
  EXPECT_EQ(of_all_reduce("ncclAllReduce_RING_SIMPLE"), NamedAlgorithm::ring);
  EXPECT_EQ(of_all_reduce("ncclAllReduce_NVLS_TREE_SIMPLE"), NamedAlgorithm::in_switch);
  EXPECT_EQ(of_all_reduce("ncclAllReduceTreeLLKernel_sum_f32(ncclColl)"), NamedAlgorithm::tree);
  EXPECT_EQ(of_all_reduce("ncclAllReduceRingLLKernel_sum_f32(ncclColl)"), NamedAlgorithm::ring);
  // The kernel of all functions without a kernel of their own.
  EXPECT_EQ(of_all_reduce("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"), NamedAlgorithm::unknown);
}

TEST(KernelAlgorithm, OtherKernelsTellNothing) {
  for (const char* name : {"", "nccl", "gloo:all_reduce", "ring_attention_forward",
                           "void two_shot_all_reduce_TREE_kernel"})
    EXPECT_EQ(of_all_reduce(name), NamedAlgorithm::unknown) << name;
}

TEST(KernelAlgorithm, CallsAreCountedByGroupAndSize) {
  std::vector<TestRank> ranks(2);
  for (TestRank& r : ranks) {
    r.rows().step("ProfilerStep#1", 0, 1000);
    r.all_reduce(0, 100, {.elements = 1000, .seq = 1});
    r.all_reduce(200, 300, {.elements = 1000, .seq = 2});
    r.comm("ncclDevKernel_AllReduce_Sum_f32_TREE_LL()", 400, 500,
           {.name = "allreduce", .elements = 50, .seq = 3});
    r.comm(all_gather_kernel, 600, 700, {.name = "_allgather_base", .seq = 4});
  }
  const TestJob job(std::move(ranks));
  const auto calls = named_calls(job.views(), match_collectives(job.views()));
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].bytes, Bytes{200});
  EXPECT_EQ(calls[0].algorithm, NamedAlgorithm::tree);
  EXPECT_EQ(calls[0].calls, 2U);
  EXPECT_EQ(calls[1].bytes, Bytes{4000});
  EXPECT_EQ(calls[1].algorithm, NamedAlgorithm::not_tree);
  EXPECT_EQ(calls[1].calls, 4U);
}

}  // namespace

}  // namespace stepscope
