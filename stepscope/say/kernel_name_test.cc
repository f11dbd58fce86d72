// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/kernel_name.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(KernelName, ATemplateKeepsItsNameAndTheFunctorThatItRuns) {
  EXPECT_EQ(
      short_kernel_name(
          "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
          "float, float, at::native::binary_internal::MulFunctor<float> >, "
          "at::detail::Array<char*, 2> >(int, float)"),
      "vectorized_elementwise_kernel[MulFunctor]");
  EXPECT_EQ(
      short_kernel_name("void at::native::unrolled_elementwise_kernel<at::native::"
                        "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int)"),
      "unrolled_elementwise_kernel[direct_copy_kernel_cuda]");
}

TEST(KernelName, NamespacesAndArgumentsGo) {
  EXPECT_EQ(short_kernel_name("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, "
                              "unsigned int, 4, 64, 64>(float*)"),
            "CatArrayBatchedCopy");
  EXPECT_EQ(
      short_kernel_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)"),
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_EQ(short_kernel_name("void (anonymous namespace)::softmax_warp_forward<float>(float*)"),
            "softmax_warp_forward");
}

TEST(KernelName, NamesThatAreNoSignaturesStay) {
  for (const char* name : {"Memcpy DtoH (Device -> Pinned)", "volta_sgemm_128x32_tn",
                           "triton_poi_fused_add_0", "Memset (Device)", "", "<lambda>"})
    EXPECT_EQ(short_kernel_name(name), name);
}

}  // namespace
}  // namespace stepscope
