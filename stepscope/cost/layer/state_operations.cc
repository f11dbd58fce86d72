// SPDX-License-Identifier: Apache-2.0
// Mixers that carry a state from token to token instead of meeting all keys: linear attention with
// the delta rule (Yang et al. 2024) and Mamba-2 (Dao and Gu 2024). Both run in chunks: products
// within a chunk, and a state of each head handed from chunk to chunk. Derivations are in
// docs/dev/layer-operations.md.
#include <algorithm>

#include "stepscope/cost/layer/operation_parts.h"
#include "stepscope/cost/model/model_flops.h"

namespace stepscope {
namespace {

using enum CollectiveKind;
using Int = std::int64_t;

// The part of a state mixer on this device.
struct StateShare {
  std::string_view name;
  Int heads = 0;       // with a state each
  Int key_size = 0;    // rows of a state
  Int value_size = 0;  // columns of a state
  Int chunk = 0;
  Int convolution = 0;
  double convolved = 0;   // features under the convolution
  double values = 0;      // features of the output
  double scalars = 0;     // step sizes and decays of a token
  double parameters = 0;  // of convolution and scan
};

Int on_device(const DeviceShare& s, Int heads) {
  return std::max<Int>(1, heads / s.split.features);
}

StateShare linear_share(const DeviceShare& s) {
  const LinearAttention& l = *s.model.linear;
  const Int keys = on_device(s, l.key_heads) * l.key_size;
  const Int heads = on_device(s, l.value_heads);
  const Int values = heads * l.value_size;
  const Int decays = l.gate_rank == 0 ? heads : keys;
  const Int biases = l.gate_rank == 0 ? 2 * heads : keys + heads;
  return {.name = "delta_rule",
          .heads = heads,
          .key_size = l.key_size,
          .value_size = l.value_size,
          .chunk = l.chunk,
          .convolution = l.convolution,
          .convolved = number(2 * keys + values),
          .values = number(values),
          .scalars = number(heads + decays),
          .parameters = number((2 * keys + values) * l.convolution + biases)};
}

StateShare mamba_share(const DeviceShare& s) {
  const StateSpace& m = *s.model.state_space;
  const Int heads = on_device(s, m.heads);
  const Int inner = heads * m.head_size;
  const Int bc = 2 * on_device(s, m.groups) * m.state;
  return {.name = "state_scan",
          .heads = heads,
          .key_size = m.state,
          .value_size = m.head_size,
          .chunk = m.chunk,
          .convolution = m.convolution,
          .convolved = number(inner + bc),
          .values = number(inner),
          .scalars = number(heads),
          .parameters = number((inner + bc) * (m.convolution + 1) + 3 * heads)};
}

// A short convolution of each feature over the last tokens, with its activation. Backward computes
// it again from its input.
Operation convolution(const DeviceShare& s, const StateShare& x) {
  const double elements = number(s.work_rows) * x.convolved;
  VectorCount count = s.counting.silu;
  count.forward += 2 * number(x.convolution);
  count.backward += 6 * number(x.convolution);
  Operation op =
      pointwise(s, {.name = "convolution", .count = count, .elements = elements, .kept = elements});
  op.parameters = x.parameters;
  return op;
}

// Backward makes two products for each of forward's, after it made forward's states again. States
// of chunks are kept in fp32 between the kernels of a pass.
Operation scan(const DeviceShare& s, const LayerKind& kind, const StateShare& x) {
  const double rows = number(s.work_rows);
  const double state = number(x.key_size * x.value_size);
  const double states = 4 * rows / number(x.chunk) * number(x.heads) * state;
  const double in = rows * (x.convolved * s.element + 4 * x.scalars);
  const double out = rows * x.values * s.element;
  const double parts = number(s.split.features);
  const double flops = rows * state_flops(s.model, kind) / parts;
  Operation op{.name = x.name, .kind = OperationClass::scan};
  op.forward.matrix = {flops};
  // Within a chunk, and from the states.
  const Int chunks = std::max<Int>(1, s.work_rows / x.chunk);
  const MatmulShape within{chunks * x.heads, x.chunk, x.chunk, x.key_size};
  const MatmulShape across{chunks * x.heads, x.chunk, x.value_size, x.key_size};
  op.forward.matmuls = {within, across};
  op.forward.input_bytes = in;
  op.forward.output_bytes = out;
  op.forward.other_bytes = 4 * states;  // written, passed on (read and written), read
  op.backward.matrix = {3 * flops};
  op.backward.matmuls = {within, within, within, across, across, across};
  op.backward.input_bytes = out;
  op.backward.output_bytes = in;
  op.backward.other_bytes = 2 * in + 8 * states;
  op.kept_bytes = in - rows * x.convolved * s.element + out;  // the convolution keeps its input
  return op;
}

// Whole sequences of some heads instead of parts of all: all-to-all of what goes in and comes out.
void exchange_heads(const DeviceShare& s, const StateShare& x, Operation& op) {
  if (s.plan.cp == 1) return;
  const double rows = number(s.work_rows) * s.element;
  for (const double features : {x.convolved, x.values}) {
    const Communication all{
        .kind = all_to_all, .dim = ParallelDim::context, .bytes = rows * features};
    op.forward.communications.push_back(all);
    op.backward.communications.push_back(all);
  }
}

void add_linear_projections(const DeviceShare& s, const StateShare& x, std::vector<Operation>& to) {
  const LinearAttention& l = *s.model.linear;
  const Int tp = s.split.features;
  const Int hidden = s.model.hidden;
  const Int heads = on_device(s, l.value_heads) * tp;
  const Int values = heads * l.value_size;
  const Int keys = on_device(s, l.key_heads) * tp * l.key_size;
  const Int from_hidden = 2 * keys + values + heads + (l.gate_rank == 0 ? values + heads : 0);
  to.push_back(linear(s, {.name = "linear_in_proj", .shape = {s.tokens, hidden, from_hidden}}));
  if (l.gate_rank > 0) {
    to.push_back(linear(s, {.name = "linear_gates_down",
                            .shape = {s.tokens, hidden, 2 * l.gate_rank},
                            .replicated = true,
                            .keeps_input = false}));
    to.push_back(linear(s, {.name = "linear_gates_up",
                            .shape = {s.tokens, l.gate_rank, keys + values},
                            .gathers_input = false,
                            .reduces_gradient = false}));
  }
  to.push_back(convolution(s, x));
}

void add_mamba_projections(const DeviceShare& s, const StateShare& x, std::vector<Operation>& to) {
  const StateSpace& m = *s.model.state_space;
  const Int tp = s.split.features;
  const Int heads = on_device(s, m.heads) * tp;
  const Int inner = heads * m.head_size;
  const Int bc = 2 * on_device(s, m.groups) * tp * m.state;
  to.push_back(linear(
      s, {.name = "state_in_proj", .shape = {s.tokens, s.model.hidden, 2 * inner + bc + heads}}));
  to.push_back(convolution(s, x));
}

}  // namespace

void add_state_mixer(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to) {
  const Transformer& m = share.model;
  const bool mamba = kind.mixer == Mixer::state_space;
  const StateShare x = mamba ? mamba_share(share) : linear_share(share);
  open_part(share, to);
  to.push_back(stream_norm(share, "attention_norm", true));
  if (mamba) {
    add_mamba_projections(share, x, to);
  } else {
    add_linear_projections(share, x, to);
  }
  to.push_back(scan(share, kind, x));
  exchange_heads(share, x, to.back());
  // A norm whose output, or input, is gated.
  const double values = number(share.work_rows) * x.values;
  to.push_back(norm(share, {.name = "state_norm",
                            .norm = Norm::rms_norm,
                            .rows = number(share.work_rows),
                            .width = x.values,
                            .parameters = mamba ? x.values : number(x.value_size)}));
  to.push_back(pointwise(share, {.name = "state_gate",
                                 .count = share.counting.gate,
                                 .elements = values,
                                 .second_reads = 1,
                                 .gradient_writes = 2,
                                 .kept = values}));
  const auto columns = static_cast<Int>(x.values) * share.split.features;
  to.push_back(linear(share, {.name = "state_out_proj",
                              .shape = {share.tokens, columns, m.hidden},
                              .place = LinearPlace::second}));
  if (m.norms_per_layer > 2) to.push_back(stream_norm(share, "attention_post_norm", false));
  add_residual(share, "attention_output_dropout", "attention_residual", true, to);
}

}  // namespace stepscope
