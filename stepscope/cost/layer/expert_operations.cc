// SPDX-License-Identifier: Apache-2.0
// A mixture of experts. The router selects top_k experts for each token. Copies of the tokens go to
// the devices of these experts and come back as sums. The experts of a device get equal shares. The
// device counted is the fullest: all others wait for it.
#include <algorithm>
#include <cmath>

#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

using enum CollectiveKind;

// Rows for the experts: of all tp devices together, and those that this device sends away.
struct Routed {
  std::int64_t rows = 0;
  double sent = 0;
  double columns = 0;  // of a row on this device
};

// The load of the fullest device, relative to the mean. No device has more than all tokens.
double load_of(const Plan& plan) {
  return std::min(number(plan.experts.load) / 100, number(plan.ep));
}

Routed routed(const DeviceShare& s) {
  const Experts& x = *s.model.experts;
  const double load = load_of(s.plan);
  const double copies = number(x.top_k) * x.capacity_factor.value_or(1.0) * load;
  // Even with the smallest capacity some expert has space for one token.
  return {std::max<std::int64_t>(1, std::llround(number(s.tokens) * copies)),
          number(s.stream_rows) * copies,
          x.latent > 0 ? number(x.latent) / number(s.stream_parts) : s.stream_columns};
}

void add_router(const DeviceShare& s, const LayerKind& kind, std::vector<Operation>& to) {
  const Experts& x = *s.model.experts;
  to.push_back(linear(s, {.name = "router",
                          .shape = {s.tokens, s.model.hidden, x.count},
                          .replicated = true,
                          .always_16_bit = true}));
  if (x.router_bias && !kind.hashed) to.back().parameters += number(x.count);
  // Scores are fp32, and so are their kept weights.
  const double scores = number(s.stream_rows * x.count);
  Operation op{.name = "router_softmax", .kind = OperationClass::softmax};
  op.forward.vector = {s.counting.softmax.forward * scores};
  op.forward.input_bytes = scores * s.element;
  op.forward.output_bytes = 4 * scores;
  op.backward.vector = {s.counting.softmax.backward * scores};
  op.backward.input_bytes = 4 * scores;
  op.backward.output_bytes = scores * s.element;
  op.backward.other_bytes = 4 * scores;
  op.kept_bytes = 4 * scores;
  to.push_back(op);
}

// Bytes of an element on its way to an expert: fp8 with a scale in fp32 for each 128 elements
// (DeepSeek-AI 2024 §3.3.3).
double dispatched_element(const DeviceShare& s) {
  return s.plan.experts.narrow_dispatch ? 1 + 4.0 / 128 : s.element;
}

void exchange(const DeviceShare& s, const Routed& r, double element, Pass& pass) {
  if (s.plan.ep == 1) return;
  Communication all{
      .kind = all_to_all, .dim = ParallelDim::expert, .bytes = r.sent * r.columns * element};
  if (s.plan.experts.dispatch == ExpertDispatch::forwarded) {
    const Experts& x = *s.model.experts;
    all.forwarded = {.experts = &x,
                     .one_copy = load_of(s.plan) * number(s.stream_rows) * r.columns * element};
    all.bytes = std::min(all.bytes, parts_chosen(x, s.plan.ep) * all.forwarded.one_copy);
  }
  pass.communications.push_back(all);
}

// 1d without sequence parallelism: partial sums of the tp ranks are added once per token, not once
// per copy.
void add_partial_sums(const DeviceShare& s, Pass& pass) {
  if (s.plan.tensor.layout != TensorLayout::one_d || s.plan.tp == 1) return;
  if (s.sequence_parallel()) return;
  pass.communications.push_back(
      {.kind = all_reduce, .dim = ParallelDim::tensor, .bytes = s.stream() * s.element});
}

// Copies each token for its experts (backward: adds the copies' gradients) and sends the copies.
Operation dispatch(const DeviceShare& s, const Routed& r) {
  const double in = number(s.stream_rows) * r.columns * s.element;
  const double out = r.sent * r.columns * dispatched_element(s);
  const double back = r.sent * r.columns * s.element;
  // Received copies are sorted by expert: another pass over memory.
  const double passes = s.plan.ep > 1 ? 2 : 1;
  Operation op{.name = "dispatch", .kind = OperationClass::pointwise};
  op.forward.input_bytes = in + (passes - 1) * out;
  op.forward.output_bytes = passes * out;
  op.backward.vector = {r.sent * r.columns};
  op.backward.input_bytes = passes * back;
  op.backward.output_bytes = in + (passes - 1) * back;
  exchange(s, r, dispatched_element(s), op.forward);
  exchange(s, r, s.element, op.backward);
  add_partial_sums(s, op.backward);
  return op;
}

// Sums the experts' outputs of each token (backward: copies its gradient for its experts).
Operation combine(const DeviceShare& s, const Routed& r) {
  const double in = r.sent * r.columns * s.element;
  const double back = r.sent * r.columns * dispatched_element(s);
  const double out = number(s.stream_rows) * r.columns * s.element;
  const double passes = s.plan.ep > 1 ? 2 : 1;
  Operation op{.name = "combine", .kind = OperationClass::pointwise};
  op.forward.vector = {r.sent * r.columns};
  op.forward.input_bytes = passes * in;
  op.forward.output_bytes = out + (passes - 1) * in;
  op.backward.input_bytes = out + (passes - 1) * back;
  op.backward.output_bytes = passes * back;
  exchange(s, r, s.element, op.forward);
  exchange(s, r, dispatched_element(s), op.backward);
  add_partial_sums(s, op.forward);
  return op;
}

void add_shared(const DeviceShare& s, std::vector<Operation>& to) {
  const Transformer& m = s.model;
  const std::int64_t width = m.experts->shared_feed_forward;
  to.push_back(linear(s, {.name = "shared_fc1",
                          .shape = {s.tokens, m.hidden, (m.gated ? 2 : 1) * width},
                          .bias = m.feed_forward_bias,
                          .keeps_input = false}));  // the router does
  to.push_back(activation(s, "shared_activation", s.hidden(width), false));
  to.push_back(linear(s, {.name = "shared_fc2",
                          .shape = {s.tokens, width, m.hidden},
                          .place = LinearPlace::second,
                          .bias = m.feed_forward_bias}));
  if (m.experts->shared_gate) {
    to.push_back(linear(s, {.name = "shared_gate",
                            .shape = {s.tokens, m.hidden, 1},
                            .replicated = true,
                            .keeps_input = false}));
    to.push_back(pointwise(s, {.name = "shared_gating",
                               .count = s.counting.gate,
                               .elements = s.stream(),
                               .kept = s.stream()}));
  }
  to.push_back(pointwise(s, {.name = "shared_add",
                             .count = s.counting.residual,
                             .elements = s.stream(),
                             .second_reads = 1,
                             .gradient_writes = 0}));
}

// The first product activates and casts what it writes, and the second one's backward what it
// hands on: no pass over memory reads it for that. The inputs of the activation are written for
// backward as always. Narrow copies are two: one in the order of rows, one of columns.
void fuse_activation(const DeviceShare& s, Operation& fc1, Operation& act, Operation& fc2) {
  const bool narrow = below_16_bits(s.plan.precision.matmul);
  const double share = narrow ? 2 * operand_bytes(s.plan.precision.matmul) / s.element : 1;
  act.forward.input_bytes = 0;
  act.forward.output_bytes *= share;
  act.backward.input_bytes = 0;
  act.backward.output_bytes *= share;
  fc2.backward.output_bytes = 0;
  fc2.forward.input_cast = fc1.backward.input_cast = narrow;
}

}  // namespace

void add_experts(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to) {
  const Transformer& m = share.model;
  const Experts& x = *m.experts;
  const Routed r = routed(share);
  const std::int64_t here = x.count / share.plan.ep;
  open_part(share, to);
  to.push_back(stream_norm(share, "feed_forward_norm", true));
  add_router(share, kind, to);
  const bool whole = whole_experts(share.plan);
  const std::int64_t stream = x.latent > 0 ? x.latent : m.hidden;
  if (x.latent > 0) {
    to.push_back(linear(share, {.name = "expert_latent_down",
                                .shape = {share.tokens, m.hidden, x.latent},
                                .replicated = true,
                                .keeps_input = false}));
  }
  to.push_back(dispatch(share, r));
  to.push_back(linear(share, {.name = "expert_fc1",
                              .shape = {r.rows, stream, (m.gated ? 2 : 1) * x.feed_forward},
                              .replicated = whole,
                              .bias = m.feed_forward_bias,
                              .groups = here,
                              .keeps_gathered = true,
                              .reduces_gradient = share.sequence_parallel()}));
  to.back().expert = true;
  const double width = number(r.rows) / number(share.split.tokens) * number(x.feed_forward) /
                       number(share.split.features);
  to.push_back(activation(share, "expert_activation", width, true));
  to.push_back(linear(share, {.name = "expert_fc2",
                              .shape = {r.rows, x.feed_forward, stream},
                              .place = LinearPlace::second,
                              .replicated = whole,
                              .bias = m.feed_forward_bias,
                              .groups = here,
                              .reduces_output = share.sequence_parallel()}));
  to.back().expert = true;
  if (share.plan.kernels.fused_experts) {
    const std::size_t last = to.size() - 1;
    fuse_activation(share, to[last - 2], to[last - 1], to[last]);
  }
  to.push_back(combine(share, r));
  if (x.latent > 0) {
    to.push_back(linear(share, {.name = "expert_latent_up",
                                .shape = {share.tokens, x.latent, m.hidden},
                                .replicated = true}));
  }
  if (x.shared_feed_forward > 0) add_shared(share, to);
  if (m.norms_per_layer > 3) to.push_back(stream_norm(share, "feed_forward_post_norm", false));
  add_residual(share, "feed_forward_dropout", "feed_forward_residual", true, to);
}

}  // namespace stepscope
