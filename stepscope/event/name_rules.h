// SPDX-License-Identifier: Apache-2.0
// What names of kernels and operators look like: word lists, all lower-case. Kernel rules look
// mostly at the head of the name (the function, without template and call arguments), because
// arguments name the types of other kernels
// ("cublasGemvTensor" in a dot product, "lambda" in everything).
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/event/name_class.h"

namespace stepscope::name_rules {

using Words = std::span<const std::string_view>;
template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> words(Text... text) {
  return {std::string_view(text)...};
}

inline bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}
inline bool has_any(std::string_view text, Words list) {
  return std::ranges::any_of(list, [&](std::string_view w) { return has(text, w); });
}
inline bool starts_with_any(std::string_view text, Words list) {
  return std::ranges::any_of(list, [&](std::string_view w) { return text.starts_with(w); });
}
inline bool contains(Words list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

[[nodiscard]] std::string lower(std::string_view text);
// "void at::(anonymous namespace)::f<int>(int)" → "at::f". Mangled names stay whole.
[[nodiscard]] std::string head_of(std::string_view lower_name);
// "autograd::engine::evaluate_function: AddmmBackward0", "aten::addmm_", "aten::addmm.out" →
// "addmm".
[[nodiscard]] std::string_view operator_stem(std::string_view lower_name);
// "nccl:all_reduce", "gloo:barrier": a process group's annotation.
[[nodiscard]] bool is_backend_annotation(std::string_view lower_name);
[[nodiscard]] bool is_communication_kernel(std::string_view lower_name, std::string_view head);
[[nodiscard]] bool is_communication_operator(std::string_view lower_name, std::string_view stem);

// --- communication: libraries whose every kernel is, then functions by what they call themselves
// ---
inline constexpr auto comm_libraries = words(
    "ncclkernel", "nccldevkernel", "ncclsymk", "rccl_main_kernel", "mscclpp", "mscclkernel",
    "nvshmem", "deep_ep::", "dpsk::ep::", "userbuffers", "c10d::symmetric_memory", "quickreduce");
inline constexpr auto comm_starts = words("nccl", "rccl", "hccl", "oneccl", "mscclkern");
inline constexpr auto comm_words =
    words("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "reducescatter",
          "all_to_all", "alltoall", "all2all", "cross_device_reduce", "multimem_", "two_shot_",
          "one_shot_");
// They carry those words but move data inside one device.
inline constexpr auto comm_neighbours =
    words("copy_in", "copy_out", "split_with_sizes_copy", "chunk_cat", "triton_");

// --- kernels ---
struct ClassRule {
  NameClass result;
  Words anywhere;
  Words head;
  Words start;  // of the head
};

inline constexpr auto copy_anywhere = words("direct_copy_kernel", "_copy_kernel");
inline constexpr auto copy_head =
    words("catarraybatchedcopy", "split_with_sizes_copy", "chunk_cat", "rocclr_copybuffer",
          "rocclr_fillbuffer", "nchwtonhwc", "nhwctonchw", "batched_transpose", "im2col",
          "im2d2col", "im3d2col", "col2im", "tensor_transform", "transpose_kernel",
          "transpose_readwrite", "all_gather_copy", "copypackedkernel", "strided_copy");
inline constexpr auto copy_start = words("memcpy", "memset", "dma_", "aten::cat", "aten::copy",
                                         "copy_kernel", "copy_device_to_device", "transpose");
inline constexpr auto attention_anywhere = words(
    "flash_fwd", "flash_bwd", "flash::", "flashattn", "flash_attn", "flashattention",
    "flash_attention", "fmha", "sdpa", "mha_fwd", "mha_bwd", "flashmla", "flash_mla", "fused_attn");
inline constexpr auto attention_head = words("attn", "attention");
inline constexpr auto loss_anywhere =
    words("cross_entropy", "crossentropy", "nll_loss", "nllloss", "nllcriterion", "log_softmax",
          "logsoftmax", "mse_", "mseloss", "binary_cross", "kl_div", "smooth_l1");
inline constexpr auto loss_head = words("entropy", "bce_", "_loss");
inline constexpr auto norm_anywhere =
    words("batch_norm", "batchnorm", "layer_norm", "layernorm", "rms_norm", "rmsnorm", "group_norm",
          "groupnorm", "instance_norm", "gammabeta", "cudnn::bn");
inline constexpr auto norm_head =
    words("bn_fw", "bn_bw", "rowwisemoments", "ln_fwd", "ln_bwd", "cucomputegradinput");
inline constexpr auto embedding_head = words("embedding", "split_eb_", "indexselect",
                                             "vectorized_gather_kernel", "compute_grad_weight");
inline constexpr auto optimizer_anywhere = words("amp_update_scale");
inline constexpr auto optimizer_head =
    words("multi_tensor_", "multitensor", "adam", "adagrad", "fused_sgd", "rmsprop");
inline constexpr auto epilogue_anywhere = words("epilogue::impl::globalkernel");
inline constexpr auto matmul_anywhere =
    words("s16816gemm", "cutlass", "xmma", "wgmma", "gridwisegemm", "devicegemm", "gemmkernel",
          "gemm_kernel", "gemmuniversal", "splitkreduce", "reducesplitk");
inline constexpr auto matmul_head =
    words("gemm", "gemv", "scudnn", "hcudnn", "winograd", "convolve", "convolution", "conv1d",
          "conv2d", "conv3d", "conv_depthwise", "depthwise", "grouped_conv", "naive_conv",
          "asmconv", "_conv_", "dgrad", "wgrad_alg", "reduce_wgrad", "wgrad2d", "fprop",
          "fft2d_r2c", "fft2d_c2r", "matmul", "marlin", "machete", "linear_relu", "fused_linear",
          "fused_moe", "wvsplitk", "_sdd_kernel", "_dsd_kernel", "_dds_kernel");
inline constexpr auto matmul_start = words("nvjet", "cijk_", "custom_cijk_", "fc-", "xxt_kernel",
                                           "ba_plus_caa_kernel", "mm_kernel", "bmm_kernel");
inline constexpr auto elementwise_head = words(
    "elementwise", "pointwise", "dropout", "gelu", "silu", "swiglu", "geglu", "relu", "sigmoid",
    "tanh", "rotary", "rope", "optensor", "op_tensor", "subtensorop", "op_generic_tensor",
    "distribution_", "bias_add", "act_and_mul", "masked_fill", "nan_to_num", "threshold_backward");
// MTIA names its device rows after operators: "aten::mul.out-dtype_Float".
inline constexpr auto elementwise_start =
    words("aten::mul", "aten::sub", "aten::add", "aten::div", "aten::sqrt", "aten::where",
          "add-dtype", "divide-dtype", "clip-dtype", "neg-dtype", "log2-dtype", "reciprocal",
          "eq_kernel", "customized_fba_mul");

// First match wins. Attention before matmul, because flash kernels are cutlass kernels; losses and
// norms before elementwise, which is only the shape of the loop; embeddings before the optimizer
// fused into their backward.
inline constexpr std::array<ClassRule, 9> kernel_rules = {{
    {NameClass::copy, copy_anywhere, copy_head, copy_start},
    {NameClass::attention, attention_anywhere, attention_head, {}},
    {NameClass::loss, loss_anywhere, loss_head, {}},
    {NameClass::norm, norm_anywhere, norm_head, {}},
    {NameClass::embedding, {}, embedding_head, {}},
    {NameClass::optimizer, optimizer_anywhere, optimizer_head, {}},
    {NameClass::elementwise, epilogue_anywhere, {}, {}},
    {NameClass::matmul, matmul_anywhere, matmul_head, matmul_start},
    {NameClass::elementwise, {}, elementwise_head, elementwise_start},
}};

// --- operators: whole stems without underscores, so that masked_fill_ and MaskedFillBackward0 are
// one ---
inline constexpr auto optimizer_stems =
    words("foreach", "fusedadam", "fusedsgd", "fusedadagrad", "multitensor", "amp");
inline constexpr auto matmul_stems =
    words("mm", "addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "einsum", "mv", "addmv",
          "dot", "vdot", "conv1d", "conv2d", "conv3d", "convtranspose1d", "convtranspose2d",
          "convtranspose3d", "scaledmm", "groupedmm", "scaledgroupedmm", "intmm", "convdepthwise2d",
          "addmmactivation", "batchmatmul", "mkldnnlinear", "tensordot");
inline constexpr auto copy_stems =
    words("copy", "tocopy", "clone", "contiguous", "cat", "concat", "stack", "pinmemory", "to",
          "copyfrom", "copybuckettograd", "tocpu", "copyslices");
inline constexpr auto elementwise_stems =
    words("add", "sub", "rsub", "mul", "div", "divide", "neg", "abs", "exp", "log", "log2", "sqrt",
          "rsqrt", "square", "pow", "sin", "cos", "tanh", "sigmoid", "relu", "gelu", "silu", "elu",
          "leakyrelu", "hardtanh", "threshold", "clamp", "clampmin", "clampmax", "clip", "where",
          "maskedfill", "fill", "zero", "dropout", "nativedropout", "bernoulli", "lerp", "addcmul",
          "addcdiv", "reciprocal", "eq", "ne", "lt", "le", "gt", "ge", "logicaland", "logicalor",
          "logicalnot", "bitwiseand", "bitwiseor", "isnan", "isfinite", "isinf", "nantonum",
          "remainder", "maximum", "minimum", "mulout", "accumulategrad", "ceil", "floor",
          "logsigmoid", "logsigmoidforward", "erf");

}  // namespace stepscope::name_rules
