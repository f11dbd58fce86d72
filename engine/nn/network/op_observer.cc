// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/op_observer.h"

namespace stepscope::nn {
namespace {

constexpr std::array<std::string_view, leaf_op_count> names = {
    "aten::embedding",
    "aten::embedding_dense_backward",
    "aten::native_layer_norm",
    "aten::native_layer_norm_backward",
    "aten::_fused_rms_norm",
    "aten::_fused_rms_norm_backward",
    "aten::linear",
    "aten::mm",
    "aten::mm",
    "stepscope::rotary",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    "aten::gelu",
    "aten::gelu_backward",
    "stepscope::swiglu",
    "stepscope::swiglu_backward",
    "aten::native_dropout",
    "stepscope::linear_cross_entropy",
    "stepscope::linear_cross_entropy_trained"};
static_assert(names[static_cast<std::size_t>(LeafOp::linear_cross_entropy_trained)] ==
              "stepscope::linear_cross_entropy_trained");

}  // namespace

std::string_view leaf_op_name(LeafOp op) { return names[static_cast<std::size_t>(op)]; }

std::string_view leaf_op_concrete(LeafOp op) {
  switch (op) {
    case LeafOp::attention:  // query, key, value, dropout_p, is_causal
      return R"(["", "", "", "0.", "True"])";
    case LeafOp::attention_backward:  // ..., out, logsumexp, dropout_p, is_causal
      return R"(["", "", "", "", "", "", "0.", "True"])";
    default:
      return {};
  }
}

}  // namespace stepscope::nn
