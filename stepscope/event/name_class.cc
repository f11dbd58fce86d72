// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/name_class.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

using namespace name_rules;

// Word lists, all lower-case. Rules look mostly at the head of a kernel's name, that is the
// function without template and call arguments. Arguments name the types of other kernels
// ("cublasGemvTensor" in a dot product, "lambda" in everything).
struct ClassRule {
  NameClass result;
  Words anywhere;
  Words head;
  Words start;  // at the start of the head
};

constexpr auto copy_anywhere = words("direct_copy_kernel", "_copy_kernel");
constexpr auto copy_head =
    words("catarraybatchedcopy", "split_with_sizes_copy", "chunk_cat", "rocclr_copybuffer",
          "rocclr_fillbuffer", "nchwtonhwc", "nhwctonchw", "batched_transpose", "im2col",
          "im2d2col", "im3d2col", "col2im", "tensor_transform", "transpose_kernel",
          "transpose_readwrite", "all_gather_copy", "copypackedkernel", "strided_copy");
constexpr auto copy_start = words("memcpy", "memset", "dma_", "aten::cat", "aten::copy",
                                  "copy_kernel", "copy_device_to_device", "transpose");
constexpr auto attention_anywhere = words(
    "flash_fwd", "flash_bwd", "flash::", "flashattn", "flash_attn", "flashattention",
    "flash_attention", "fmha", "sdpa", "mha_fwd", "mha_bwd", "flashmla", "flash_mla", "fused_attn");
constexpr auto attention_head = words("attn", "attention");
constexpr auto loss_anywhere =
    words("cross_entropy", "crossentropy", "nll_loss", "nllloss", "nllcriterion", "log_softmax",
          "logsoftmax", "mse_", "mseloss", "binary_cross", "kl_div", "smooth_l1");
constexpr auto loss_head = words("entropy", "bce_", "_loss");
constexpr auto norm_anywhere =
    words("batch_norm", "batchnorm", "layer_norm", "layernorm", "rms_norm", "rmsnorm", "group_norm",
          "groupnorm", "instance_norm", "gammabeta", "cudnn::bn");
constexpr auto norm_head =
    words("bn_fw", "bn_bw", "rowwisemoments", "ln_fwd", "ln_bwd", "cucomputegradinput");
constexpr auto embedding_head = words("embedding", "split_eb_", "indexselect",
                                      "vectorized_gather_kernel", "compute_grad_weight");
constexpr auto optimizer_anywhere = words("amp_update_scale");
constexpr auto optimizer_head =
    words("multi_tensor_", "multitensor", "adam", "adagrad", "fused_sgd", "rmsprop");
constexpr auto epilogue_anywhere = words("epilogue::impl::globalkernel");
constexpr auto matmul_anywhere =
    words("s16816gemm", "cutlass", "xmma", "wgmma", "gridwisegemm", "devicegemm", "gemmkernel",
          "gemm_kernel", "gemmuniversal", "splitkreduce", "reducesplitk");
constexpr auto matmul_head =
    words("gemm", "gemv", "scudnn", "hcudnn", "winograd", "convolve", "convolution", "conv1d",
          "conv2d", "conv3d", "conv_depthwise", "depthwise", "grouped_conv", "naive_conv",
          "asmconv", "_conv_", "dgrad", "wgrad_alg", "reduce_wgrad", "wgrad2d", "fprop",
          "fft2d_r2c", "fft2d_c2r", "matmul", "marlin", "machete", "linear_relu", "fused_linear",
          "fused_moe", "wvsplitk", "_sdd_kernel", "_dsd_kernel", "_dds_kernel");
constexpr auto matmul_start = words("nvjet", "cijk_", "custom_cijk_", "fc-", "xxt_kernel",
                                    "ba_plus_caa_kernel", "mm_kernel", "bmm_kernel");
constexpr auto elementwise_head = words(
    "elementwise", "pointwise", "dropout", "gelu", "silu", "swiglu", "geglu", "relu", "sigmoid",
    "tanh", "rotary", "rope", "optensor", "op_tensor", "subtensorop", "op_generic_tensor",
    "distribution_", "bias_add", "act_and_mul", "masked_fill", "nan_to_num", "threshold_backward");
// MTIA names its device rows after operators: "aten::mul.out-dtype_Float".
constexpr auto elementwise_start =
    words("aten::mul", "aten::sub", "aten::add", "aten::div", "aten::sqrt", "aten::where",
          "add-dtype", "divide-dtype", "clip-dtype", "neg-dtype", "log2-dtype", "reciprocal",
          "eq_kernel", "customized_fba_mul");

// The first match wins. Attention precedes matmul because flash kernels are cutlass kernels. Losses
// and norms precede elementwise, which is only the shape of the loop. Embeddings precede the
// optimizer that is fused into their backward.
constexpr std::array<ClassRule, 9> kernel_rules = {{
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

// Operators: whole stems without underscores, so that masked_fill_ and MaskedFillBackward0 match
// one.
constexpr auto optimizer_stems =
    words("foreach", "fusedadam", "fusedsgd", "fusedadagrad", "multitensor", "amp");
constexpr auto matmul_stems =
    words("mm", "addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "einsum", "mv", "addmv",
          "dot", "vdot", "conv1d", "conv2d", "conv3d", "convtranspose1d", "convtranspose2d",
          "convtranspose3d", "scaledmm", "groupedmm", "scaledgroupedmm", "intmm", "convdepthwise2d",
          "addmmactivation", "batchmatmul", "mkldnnlinear", "tensordot");
constexpr auto copy_stems =
    words("copy", "tocopy", "clone", "contiguous", "cat", "concat", "stack", "pinmemory", "to",
          "copyfrom", "copybuckettograd", "tocpu", "copyslices");
constexpr auto elementwise_stems =
    words("add", "sub", "rsub", "mul", "div", "divide", "neg", "abs", "exp", "log", "log2", "sqrt",
          "rsqrt", "square", "pow", "sin", "cos", "tanh", "sigmoid", "relu", "gelu", "silu", "elu",
          "leakyrelu", "hardtanh", "threshold", "clamp", "clampmin", "clampmax", "clip", "where",
          "maskedfill", "fill", "zero", "dropout", "nativedropout", "bernoulli", "lerp", "addcmul",
          "addcdiv", "reciprocal", "eq", "ne", "lt", "le", "gt", "ge", "logicaland", "logicalor",
          "logicalnot", "bitwiseand", "bitwiseor", "isnan", "isfinite", "isinf", "nantonum",
          "remainder", "maximum", "minimum", "mulout", "accumulategrad", "ceil", "floor",
          "logsigmoid", "logsigmoidforward", "erf");

NameClass first_match(std::string_view name, std::string_view head) {
  for (const ClassRule& rule : kernel_rules) {
    if (has_any(name, rule.anywhere) || has_any(head, rule.head) ||
        starts_with_any(head, rule.start)) {
      return rule.result;
    }
  }
  return NameClass::other;
}

// Inductor names a kernel after the operators it fuses, and neighbours add their names too: a
// pointwise kernel after an attention is not attention. Only reductions and templates are examined.
NameClass classify_triton(std::string_view name) {
  static constexpr auto norms =
      words("rms_norm", "layer_norm", "batch_norm", "group_norm", "norm_backward", "rsqrt");
  static constexpr auto losses = words("log_softmax", "nll_loss", "cross_entropy", "_loss");
  static constexpr auto templates = words("triton_tem_", "triton_mm", "triton_bmm");
  if (starts_with_any(name, templates)) {
    return has(name, "attention") || has(name, "sdpa") ? NameClass::attention : NameClass::matmul;
  }
  if (name.starts_with("triton_poi_fused_embedding")) return NameClass::embedding;
  if (name.starts_with("triton_poi_") || name.starts_with("triton_for_"))
    return NameClass::elementwise;
  if (has_any(name, losses)) return NameClass::loss;
  if (has_any(name, norms)) return NameClass::norm;
  return has(name, "embedding") ? NameClass::embedding : NameClass::other;
}

// softmax_warp_forward<in, out, accumulate, log2_elements, is_log_softmax, …>: the log variant
// belongs to a loss.
bool is_log_softmax_warp(std::string_view name) {
  const auto at = name.find("softmax_warp_");
  if (at == std::string_view::npos) return false;
  std::string_view rest = name.substr(at);
  for (int i = 0; i < 4; ++i) {
    const auto comma = rest.find(',');
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
  return rest.starts_with(" true") || rest.starts_with("true");
}

// "flash_attn_3::fwd": the library's name shows the attention, the operator's does not.
bool is_attention_library(std::string_view operator_name) {
  const auto at = operator_name.rfind("::");
  return at != std::string_view::npos && has_any(operator_name.substr(0, at), attention_anywhere);
}

}  // namespace

NameClass classify_kernel(std::string_view text) {
  const std::string name = lower(text);
  const std::string head = head_of(name);
  if (is_communication_kernel(name, head)) return NameClass::communication;
  if (head.starts_with("triton_")) return classify_triton(head);
  return is_log_softmax_warp(name) ? NameClass::loss : first_match(name, head);
}

NameClass classify_operator(std::string_view text) {
  const std::string name = lower(text);
  const std::string_view stem = operator_stem(name);
  if (is_communication_operator(name, stem)) return NameClass::communication;
  if (stem.starts_with("triton_")) return classify_triton(stem);
  std::string flat(stem);
  std::erase(flat, '_');
  if (starts_with_any(flat, optimizer_stems) || name.starts_with("optimizer."))
    return NameClass::optimizer;
  if (is_attention_library(name) && (has(stem, "fwd") || has(stem, "bwd")))
    return NameClass::attention;
  static constexpr auto purposes = std::span(kernel_rules).subspan(1, 4);  // attention … embedding
  for (const ClassRule& rule : purposes) {
    if (has_any(stem, rule.anywhere) || has_any(stem, rule.head)) return rule.result;
  }
  if (has(name, "embedding")) return NameClass::embedding;
  if (contains(matmul_stems, flat) || has(flat, "convolution") || flat.starts_with("linearwith")) {
    return NameClass::matmul;
  }
  if (contains(copy_stems, flat) || has_any(stem, comm_neighbours)) return NameClass::copy;
  return contains(elementwise_stems, flat) ? NameClass::elementwise : NameClass::other;
}

}  // namespace stepscope
