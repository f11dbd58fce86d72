// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/name_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

NameClass kernel(const std::string& rules, const std::string& name) {
  const auto all = name_rules_with(rules, "mine.txt");
  EXPECT_TRUE(all) << all.error().message();
  return all ? classify_kernel(name, *all) : NameClass::other;
}

TEST(name_rules, of_a_user_come_first) {
  EXPECT_EQ(kernel("", "my_flash_attention"), NameClass::attention);
  EXPECT_EQ(kernel("# mine\n\nrouting head My_Flash  us", "my_flash_attention"),
            NameClass::routing);
  EXPECT_EQ(kernel("norm head a_word\nloss head a_word", "a_word_kernel"), NameClass::norm);
}

TEST(name_rules, look_only_where_they_say) {
  const std::string name = "void lib::fused<int, other::word>::run_step(arg::type)";
  EXPECT_EQ(kernel("norm start run", name), NameClass::norm);
  EXPECT_EQ(kernel("norm start lib", name), NameClass::norm);
  EXPECT_EQ(kernel("norm start step", name), NameClass::other);
  EXPECT_EQ(kernel("norm head fused", name), NameClass::norm);
  EXPECT_EQ(kernel("norm head arg", name), NameClass::other);
  EXPECT_EQ(kernel("norm anywhere arg", name), NameClass::norm);
  EXPECT_EQ(kernel("norm anywhere word", name), NameClass::other);
  EXPECT_EQ(kernel("norm argument fused<word", name), NameClass::norm);
  EXPECT_EQ(kernel("norm argument elsewhere<word", name), NameClass::other);
  EXPECT_EQ(kernel("norm argument fused<1=int", name), NameClass::norm);
  EXPECT_EQ(kernel("norm argument fused<2=int", name), NameClass::other);
}

TEST(name_rules, have_stars_and_edges) {
  EXPECT_EQ(kernel("norm head mine*last", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head last*mine", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm head |then|", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head |hen|", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm head last$", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head then$", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm start |mine|", "mine_then_last"), NameClass::norm);
}

TEST(name_rules, classify_operators) {
  const auto rules = name_rules_with(
      "matmul operator my_mm\nattention operator lib::attend\nnorm operator-has tweak", "f");
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(classify_operator("lib::my_mm_", *rules), NameClass::matmul);
  EXPECT_EQ(classify_operator("MyMmBackward0", *rules), NameClass::matmul);
  EXPECT_EQ(classify_operator("lib::attend", *rules), NameClass::attention);
  EXPECT_EQ(classify_operator("other::attend", *rules), NameClass::other);
  EXPECT_EQ(classify_operator("lib::do_tweak_it", *rules), NameClass::norm);
  EXPECT_EQ(classify_operator("aten::mm", *rules), NameClass::matmul);
}

TEST(name_rules, with_a_mistake_name_line_and_remedy) {
  const auto message = [](const char* text) {
    const auto rules = name_rules_with(text, "mine.txt");
    return rules ? std::string() : rules.error().message();
  };
  EXPECT_NE(message("# x\nmatmull head gemm").find("line 2: \"matmull\" is no class"),
            std::string::npos);
  EXPECT_NE(message("matmul tail gemm").find("write start, head"), std::string::npos);
  EXPECT_NE(message("matmul head").find("mine.txt: line 1"), std::string::npos);
  EXPECT_NE(message("matmul head f<gemm").find("argument FUNCTION<WORD"), std::string::npos);
  EXPECT_NE(message("matmul argument gemm").find("FUNCTION<WORD"), std::string::npos);
  EXPECT_NE(message("matmul head *").find("write a word"), std::string::npos);
  EXPECT_NE(message("matmul head |").find("write a word"), std::string::npos);
}

using Named = std::pair<std::string, NameClass>;
using Kind = std::pair<std::string, CollectiveKind>;

void expect_kernels(NameClass expected, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_EQ(name_class_names[static_cast<std::size_t>(classify_kernel(name))],
              name_class_names[static_cast<std::size_t>(expected)])
        << name;
  }
}

void expect_operators(const std::vector<Named>& cases) {
  for (const auto& [name, expected] : cases) {
    EXPECT_EQ(name_class_names[static_cast<std::size_t>(classify_operator(name))],
              name_class_names[static_cast<std::size_t>(expected)])
        << name;
  }
}

TEST(name_class, knows_communication_kernels_of_every_library) {
  expect_kernels(NameClass::communication,
                 {"ncclAllReduceRingLLKernel_sum_f32", "NCCLKernel_AllReduce",
                  "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
                  "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                  "ncclDevKernel_Generic_4", "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16",
                  "rccl_main_kernel(ncclDevComm*)", "void mscclpp::allreduce6<float>(float*)",
                  "void vllm::cross_device_reduce_1stage<nv_bfloat16, 8>(vllm::RankData*)",
                  "void at::native::(anonymous namespace)::multimem_all_reduce_kernel<16>(float*)",
                  "void two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>()",
                  "kuserbuffers_pushrecv(int)", "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>()",
                  "nvshmemi_transfer_rma_kernel", "void dpsk::ep::internode::combine<false>(void*)",
                  "void deep_ep::internode_ll::dispatch<true>()", "hcclAllGather"});
}

TEST(name_class, is_not_fooled_by_words_of_communication_inside_other_kernels) {
  EXPECT_EQ(classify_kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"),
            NameClass::reduction);
  EXPECT_EQ(classify_kernel(
                "void at::native::vectorized_elementwise_kernel<4, reduce_scatter_functor>()"),
            NameClass::elementwise);
  EXPECT_EQ(classify_kernel("triton_poi_fused_all_gather_into_tensor_wait_tensor_0"),
            NameClass::elementwise);
  EXPECT_EQ(classify_kernel("void split_with_sizes_copy_out_contiguous_no_cast_kernel<4>()"),
            NameClass::copy);
  EXPECT_EQ(classify_kernel("## all2all_data:kjt lengths ##"), NameClass::other);
}

TEST(name_class, knows_matmuls_and_convolutions_of_every_vendor) {
  expect_kernels(
      NameClass::matmul,
      {"volta_sgemm_128x64_tn",
       "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
       "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT",
       "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas",
       "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x256",
       "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_nt_align2>(int)",
       "void gemv2T_kernel_val<int, int, float>(cublasGemvParams<float>)",
       "std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(int)",
       "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)",
       "void cudnn::winograd_nonfused::winogradForwardData4x4<float>(int)",
       "void implicit_convolve_sgemm<float, float, 128, 5>(int)",
       "volta_scudnn_128x64_relu_small_nn_v1",
       "igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1",
       "miopenSp3AsmConv_v30_3_1_gfx9",
       "triton_tem_fused_mm_3",
       "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3",
       "wgmma_m64n256k16_kernel",
       "fused_moe_kernel",
       "_dsd_kernel",
       "void wvSplitK_hf_sml_<__hip_bfloat16, 64>(int)"});
  EXPECT_EQ(classify_kernel("void fbgemm_gpu::permute_2D_data_kernel<false, int>(int)"),
            NameClass::other);
  EXPECT_EQ(
      classify_kernel("void dot_kernel<float, 128, cublasDotParams<cublasGemvTensor<float>>>()"),
      NameClass::reduction);
}

TEST(name_class, puts_flash_kernels_before_the_cutlass_they_are_made_of) {
  expect_kernels(
      NameClass::attention,
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>(int)",
       "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnBwdSm90<int>>>()",
       "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(int)", "aiter::fmha_bwd_hd128_bf16_a16_rtne",
       "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", "attn_fwd",
       "triton_tem_fused_flex_attention_0"});
}

TEST(name_class, looks_through_the_loop_to_the_purpose) {
  expect_kernels(
      NameClass::norm,
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
       "void cudnn::bn_bw_1C11_kernel_new<float, float>(float)", "_rms_norm_fwd_fused",
       "void unrolled_elementwise_kernel_for_multi_outputs<3, batch_norm_update_stats>()",
       "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1",
       "void transformer_engine::layer_norm::ln_bwd_general_kernel<float>(int)"});
  expect_kernels(
      NameClass::loss,
      {"void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)",
       "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, "
       "false>(float*)",
       "liger_cross_entropy_kernel", "fused_softcapped_entropy_bwd_kernel",
       "void vectorized_elementwise_kernel<4, mse_kernel_cuda(int)>()",
       "void cunn_SoftMaxForward<8, float, float, float, LogSoftMaxForwardEpilogue>()"});
  EXPECT_EQ(
      classify_kernel("void softmax_warp_forward<float, float, float, 10, false, true>(float*)"),
      NameClass::softmax);
  expect_kernels(NameClass::copy,
                 {"void elementwise_kernel<128, 2, direct_copy_kernel_cuda(int)>(int)",
                  "void CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)",
                  "Memcpy DtoD (Device -> Device)", "Memset (Device)", "dma_request",
                  "__amd_rocclr_copyBuffer", "void nchwToNhwcKernel<float>(int)"});
  expect_kernels(NameClass::optimizer,
                 {"void at::native::(anonymous "
                  "namespace)::multi_tensor_apply_kernel<TensorListMetadata<3>>(int)",
                  "void fused_adam_cuda_kernel<float>(float*)"});
  expect_kernels(
      NameClass::embedding,
      {"split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1",
       "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long*)"});
  expect_kernels(NameClass::elementwise,
                 {"void at::native::vectorized_elementwise_kernel<4, "
                  "GeluCUDAKernelImpl(at::TensorIteratorBase&)>()",
                  "triton_poi_fused__flash_attn_backward_mul_sigmoid_view_16",
                  "void epilogue::impl::globalKernel<float>(cublasLtEpilogue_t)"});
  expect_kernels(NameClass::other, {"", "Kernel", "void cub::DeviceScanKernel<int>()",
                                    "void indexSelectLargeIndex<float, long>(float*)"});
  expect_kernels(NameClass::reduction,
                 {"triton_red_fused_mul_sum_7",
                  "void reduce_kernel<512, 1, ReduceOp<float, NormTwoOps<float>>>()"});
}

// Template arguments name the types of other kernels.
TEST(name_class, looks_into_template_arguments_only_where_a_rule_says_so) {
  EXPECT_EQ(
      classify_kernel("void moe::dev::finalize::finalizeKernel<KernelParams<cutlass::bfloat16_t>>"
                      "(KernelParams<cutlass::bfloat16_t>)"),
      NameClass::routing);
  EXPECT_EQ(classify_kernel("void mine::pack<cutlass::gemm::Layout, flash::Params>(int)"),
            NameClass::other);
  EXPECT_EQ(classify_kernel("void cutlass::device_kernel<mine::Pack>(int)"), NameClass::other);
  EXPECT_EQ(classify_kernel(
                "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int>>(int)"),
            NameClass::matmul);
}

TEST(name_class, reads_mangled_names) {
  EXPECT_EQ(classify_kernel("_ZN5aiter45mla_a8w8_qh32_qseqlen4_gqaratio32_lse_cprr_psE.kd"),
            NameClass::attention);
  // std::vector<cutlass::gemm> mine::f<...>: the words of arguments do not count.
  EXPECT_EQ(classify_kernel("_ZN4mine4packIN7cutlass4gemmEEEvT_"), NameClass::other);
}

TEST(name_class, classifies_operators_in_all_their_spellings) {
  using enum NameClass;
  expect_operators({{"aten::addmm", matmul},
                    {"AddmmBackward0", matmul},
                    {"autograd::engine::evaluate_function: ConvolutionBackward0", matmul},
                    {"aten::_scaled_mm", matmul},
                    {"aten::_scaled_dot_product_flash_attention", attention},
                    {"flash_attn::_flash_attn_forward", attention},
                    {"flash_attn_3::fwd", attention},
                    {"flash_attn_3::bwd", attention},
                    {"flash_attn_3::get_scheduler_metadata", other},
                    {"aten::native_layer_norm_backward", norm},
                    {"aten::linalg_vector_norm", reduction},
                    {"aten::nll_loss_nd", loss},
                    {"aten::embedding_dense_backward", embedding},
                    {"torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>", other},
                    {"Optimizer.step#AdamW.step", optimizer},
                    {"aten::_foreach_add_", optimizer},
                    {"aten::_fused_adamw_", optimizer},
                    {"aten::mul_", elementwise},
                    {"aten::masked_fill_", elementwise},
                    {"MaskedFillBackward0", elementwise},
                    {"aten::add.Tensor", elementwise},
                    {"aten::copy_", copy},
                    {"fsdp::all_gather_copy_in", copy},
                    {"aten::split_with_sizes", other},
                    {"c10d::_allgather_base_", communication},
                    {"record_param_comms", communication},
                    {"nccl:all_reduce", communication},
                    {"FSDP::all_gather (layers.3)", other},
                    {"## alltoall_fwd_single ##", other},
                    {"ProfilerStep#3", other},
                    {"", other}});
}

TEST(name_class, reads_the_collective_out_of_a_name) {
  using enum CollectiveKind;
  const std::vector<Kind> cases = {
      {"allreduce", all_reduce},
      {"allreduce_coalesced", all_reduce},
      {"_allgather_base", all_gather},
      {"all_gather_single", all_gather},
      {"allgather_into_tensor_coalesced", all_gather},
      {"reduce_scatter_tensor_coalesced", reduce_scatter},
      {"broadcast", broadcast},
      {"reduce", reduce},
      {"gather", gather},
      {"scatter", scatter},
      {"all_to_allv", all_to_all},
      {"send", send},
      {"recv", recv},
      {"barrier", barrier},
      {"wait", none},
      {"nccl:_all_gather_base", all_gather},
      {"nccl:send 0->1", send},
      {"nccl:recv 0<-1", recv},
      {"nccl:coalesced", unknown},
      {"nccl:all_reduce_barrier", barrier},
      {"hccl:allgather", all_gather},
      {"gloo:all_reduce", all_reduce},
      {"c10d::allreduce_", all_reduce},
      {"c10d::reduce_", reduce},
      {"c10d::gather_", gather},
      {"c10d::recv_any_source_", recv},
      {"_c10d_functional::wait_tensor", none},
      {"record_param_comms", unknown},
      {"ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)", send_recv},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       reduce_scatter},
      {"ncclKernel_Reduce_RING_LL_Sum_float(ncclWorkElem)", reduce},
      {"ncclDevKernel_AllGatherV", all_gather},
      {"ncclAllReduceRingLLKernel_sum_f32", all_reduce},
      {"ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_bf16", all_reduce},
      {"ncclDevKernel_Generic_1", unknown},
      {"void deep_ep::intranode::combine<nv_bfloat16>(int)", all_to_all},
      {"void vllm::cross_device_reduce_2stage<half, 8>()", all_reduce},
      {"userbuffers_fp16_sum_inplace_gpu_rr_ag<8>()", all_gather},
      {"_AlltoAllSingle", all_to_all},
      {"aten::gather", none},
      {"aten::scatter_add_", none},
      {"aten::broadcast_tensors", none},
      {"void reduce_kernel<512, 1>(int)", none},
      {"## all2all_data:kjt lengths ##", none},
      {"FSDP::all_gather", none},
      {"", none}};
  for (const auto& [name, expected] : cases) {
    EXPECT_EQ(collective_kind_names[static_cast<std::size_t>(collective_kind(name))],
              collective_kind_names[static_cast<std::size_t>(expected)])
        << name;
  }
}

}  // namespace

}  // namespace stepscope
