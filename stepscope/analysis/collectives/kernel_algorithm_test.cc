// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/kernel_algorithm.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

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
