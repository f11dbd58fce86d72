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

TEST(KernelName, AnEntryHasTheNameOfTheKernelThatItRuns) {
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_64x64>"
                              "(cutlass_80_tensorop_bf16_s16816gemm_64x64::Params)"),
            "cutlass_80_tensorop_bf16_s16816gemm_64x64");
  EXPECT_EQ(short_kernel_name(
                "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaFwdKernel<ck_tile::Block<"
                "std::bfloat16_t> >, ck_tile::Args>(ck_tile::Args) [clone .kd]"),
            "FmhaFwdKernel");
  EXPECT_EQ(short_kernel_name("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::"
                              "FlashAttnFwdSm90<flash::Mainloop<2> > > >(int)"),
            "FlashAttnFwdSm90");
  EXPECT_EQ(short_kernel_name("void kernel<4, float>(float*)"), "kernel");
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_ten"), "cutlass_80_ten");
}

TEST(KernelName, AResultTypeIsNoFunction) {
  EXPECT_EQ(short_kernel_name("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::"
                              "exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, "
                              "8>(c10::BFloat16*, long)"),
            "fused_add_rms_norm_kernel");
}

TEST(KernelName, AMangledNameHasItsFunctionAndItsFunctor) {
  EXPECT_EQ(
      short_kernel_name("_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16EEvPT_i"),
      "act_and_mul_kernel");
  EXPECT_EQ(short_kernel_name("_Z4gemmIfEvPT_.kd"), "gemm");
  EXPECT_EQ(short_kernel_name("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorI"
                              "iEESt5arrayIPcLm1EEEEviT0_T1_"),
            "vectorized_elementwise_kernel[FillFunctor]");
  EXPECT_EQ(short_kernel_name("_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelI"
                              "NS_5BlockEEEJNS_5KargsEEEEvDpT1_"),
            "FmhaBatchPrefillWithPagedKVCacheKernel");
  for (const char* broken : {"_Z", "_ZN", "_ZN9", "_ZN99999999999999999999gemm", "_ZN0gemm"})
    EXPECT_EQ(short_kernel_name(broken), broken);
}

TEST(KernelName, NamesThatWouldReadAlikeDifferByTheirWords) {
  const std::string tile =
      "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_SN_LDSB1_WG16_4";
  std::string other = tile;
  other.replace(other.find("64x16"), 5, "64x96");
  EXPECT_EQ(distinct_kernel_names({tile, "gemm", other}, 40),
            (std::vector<std::string>{"Cijk_Alik_Bljk_BBS…B1_WG16_4 MT64x16x256", "gemm",
                                      "Cijk_Alik_Bljk_BBS…B1_WG16_4 MT64x96x256"}));
  EXPECT_EQ(distinct_kernel_names({"void f<int>(int)", "void f<long>(long)"}, 40),
            (std::vector<std::string>{"f int", "f long"}));
  // Rows of one name, and names beyond all words, stay alike.
  EXPECT_EQ(distinct_kernel_names({"gemm", "gemm"}, 40),
            (std::vector<std::string>{"gemm", "gemm"}));
  EXPECT_EQ(distinct_kernel_names({"void f<a>(int)", "void f<a >(int)"}, 40),
            (std::vector<std::string>{"f", "f"}));
}

TEST(KernelName, NamesThatAreNoSignaturesStay) {
  for (const char* name : {"Memcpy DtoH (Device -> Pinned)", "volta_sgemm_128x32_tn",
                           "triton_poi_fused_add_0", "Memset (Device)", "", "<lambda>"})
    EXPECT_EQ(short_kernel_name(name), name);
}

}  // namespace
}  // namespace stepscope
