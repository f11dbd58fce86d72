// SPDX-License-Identifier: Apache-2.0
// An observer sees each leaf operation of a network; traces and breakdowns use it. Without an
// observer a network pays one branch per operation. Names and arguments are those of PyTorch's
// operator if there is one, so a reader of the trace counts the same FLOPs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope::nn {

enum class LeafOp : std::uint8_t {
  embedding,                    // table [V, C], indices [B, T]
  embedding_backward,           // gradient [B, T, C], indices [B, T]
  layer_norm,                   // rows [R, C]; with the residual sum before it
  layer_norm_backward,          // gradient [R, C], rows [R, C]
  rms_norm,                     // as layer_norm
  rms_norm_backward,            //
  linear,                       // x [M, K], weight [N, K]
  linear_backward_input,        // gradient [M, N] times weight [N, K]
  linear_backward_weight,       // gradientᵀ [N, M] times x [M, K]
  rotary,                       // queries and keys [B, T, heads, D]
  attention,                    // query, key, value [B, heads, T, D]
  attention_backward,           // gradient, query, key, value
  gelu,                         // x
  gelu_backward,                // gradient, x
  swiglu,                       // gate and up [R, 2 hidden]
  swiglu_backward,              // gradient [R, hidden], gate and up [R, 2 hidden]
  dropout,                      // x
  linear_cross_entropy,         // x [R, C], weight [V, C], targets [R]: logits, loss
  linear_cross_entropy_trained  // the same with both gradients: three products
};
inline constexpr std::size_t leaf_op_count = 19;

struct OpDims {
  std::array<std::int64_t, 4> size{};
  int rank = 0;
};
struct OpCall {
  LeafOp op = LeafOp::linear;
  std::array<OpDims, 4> inputs{};  // tensors, in the order above
  std::size_t input_count = 0;
};

// "aten::linear", "stepscope::swiglu".
[[nodiscard]] std::string_view leaf_op_name(LeafOp op);
// The non-tensor arguments that a reader needs, at their place in the schema (attention is causal),
// as the text of "Concrete Inputs". Empty if the dims are enough.
[[nodiscard]] std::string_view leaf_op_concrete(LeafOp op);

// The thread that runs the network calls these around each operation.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void begin(const OpCall& call) noexcept = 0;
  virtual void end() noexcept = 0;
};

// Calls begin now and end at the scope's end. Does nothing for a null observer.
class OpScope {
 public:
  template <class... Dims>
  OpScope(OpObserver* observer, LeafOp op, const Dims&... inputs) : observer_(observer) {
    if (observer_ != nullptr) observer_->begin({op, {inputs...}, sizeof...(inputs)});
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;
  OpScope(OpScope&&) = delete;
  OpScope& operator=(OpScope&&) = delete;
  ~OpScope() {
    if (observer_ != nullptr) observer_->end();
  }

 private:
  OpObserver* observer_;
};

}  // namespace stepscope::nn
