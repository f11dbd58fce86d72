// SPDX-License-Identifier: Apache-2.0
// The feed-forward part: two linear layers, or three with a gate, and the activation between.
#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

VectorCount activation_count(const DeviceShare& s) {
  VectorCount c;
  switch (s.model.activation) {
    case Activation::relu:
      c = s.counting.relu;
      break;
    case Activation::gelu:
      c = s.counting.gelu;
      break;
    case Activation::silu:
      c = s.counting.silu;
      break;
  }
  if (s.model.gated) {
    c.forward += s.counting.gate.forward;
    c.backward += s.counting.gate.backward;
  }
  return c;
}

}  // namespace

Operation activation(const DeviceShare& share, std::string_view name, double elements,
                     bool weighted) {
  VectorCount count = activation_count(share);
  if (weighted) {
    count.forward += 1;
    count.backward += 3;  // the product, and the sum for the weight's gradient
  }
  if (!share.model.gated) {
    return pointwise(share, {.name = name, .count = count, .elements = elements, .kept = elements});
  }
  // Eager: the activated gate is written, kept and read again for the product.
  const bool fused = share.plan.kernels.fused_pointwise;
  Operation op = pointwise(share, {.name = name,
                                   .count = count,
                                   .elements = elements,
                                   .reads = fused ? 1.0 : 2.0,
                                   .second_reads = 1,
                                   .writes = fused ? 1.0 : 2.0,
                                   .gradient_reads = fused          ? 1.0
                                                     : eager(share) ? 3.0
                                                                    : 2.0,
                                   .gradient_writes = fused ? 2.0 : 3.0,
                                   .kept = (fused ? 2 : 3) * elements});
  // Gate and input are the halves of each row of one product. Backward, the gradient of the input
  // alone needs neither of them.
  if (eager(share)) {
    op.forward.strided_bytes = op.forward.bytes();
    op.backward.strided_bytes = op.backward.bytes() - 3 * elements * share.element;
  }
  if (!share.plan.memory.narrow_swiglu) return op;
  // Both inputs are written once more, in fp8, and backward reads these copies.
  const double copies = 2 * elements * operand_bytes(Dtype::fp8);
  const double saved = 2 * elements * share.element - copies;
  op.forward.other_bytes += copies;
  op.backward.other_bytes -= saved;
  op.kept_bytes -= saved;
  return op;
}

void add_feed_forward(const DeviceShare& share, std::vector<Operation>& to) {
  const Transformer& m = share.model;
  const bool shared = shares_norm(m);
  open_part(share, to);
  if (!shared) to.push_back(stream_norm(share, "feed_forward_norm", true));
  const std::int64_t width = m.feed_forward;
  to.push_back(linear(share, {.name = "fc1",
                              .shape = {share.tokens, m.hidden, (m.gated ? 2 : 1) * width},
                              .bias = m.feed_forward_bias,
                              .keeps_input = !shared,
                              .gathers_input = !shared,
                              .reduces_gradient = !shared}));
  if (m.gated) {
    const double half = to.back().forward.output_bytes / 2;
    to.back().products = 2;
    to.back().product_outputs = {half, half};
  }
  to.push_back(activation(share, "activation", share.hidden(width), false));
  if (m.activation_dropout > 0) {
    to.push_back(dropout(share, "activation_dropout", share.hidden(width)));
  }
  to.push_back(linear(share, {.name = "fc2",
                              .shape = {share.tokens, width, m.hidden},
                              .place = LinearPlace::second,
                              .bias = m.feed_forward_bias}));
  if (m.norms_per_layer > 3) to.push_back(stream_norm(share, "feed_forward_post_norm", false));
  add_residual(share, "feed_forward_dropout", "feed_forward_residual", true, to);
}

}  // namespace stepscope
