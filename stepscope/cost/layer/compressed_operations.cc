// SPDX-License-Identifier: Apache-2.0
// Compressed attention (DeepSeek-V4): queries through a latent, one key that is also the value,
// compressors, and the projection of groups of heads. The core is that of attention_operations.cc.
// Derivations are in docs/dev/layer-operations.md.
#include <algorithm>

#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

using Int = std::int64_t;

Operation row_norm(const DeviceShare& s, std::string_view name, double rows, Int width) {
  return norm(s, {.name = name,
                  .norm = Norm::rms_norm,
                  .rows = rows,
                  .width = number(width),
                  .parameters = number(width)});
}

}  // namespace

// Each device of tp compresses its rows of the stream.
void add_compressor(const DeviceShare& s, const CompressorSpec& spec, std::vector<Operation>& to) {
  to.push_back(linear(s, {.name = spec.projection,
                          .shape = {s.tokens, s.model.hidden, 2 * spec.columns + spec.also},
                          .replicated = true,
                          .keeps_input = false}));
  const double rows = number(s.stream_rows);
  const double in = rows * number(spec.columns) * s.element;  // of keys, and of gates
  const double keys = rows / number(spec.ratio);
  const double out = keys * number(spec.width) * s.element;
  const auto& softmax = s.counting.softmax;
  const auto& precision = s.plan.precision;
  Operation op{.name = spec.name, .kind = OperationClass::pointwise};
  op.trained = s.trained;
  // The gates' softmax over the tokens of a key, the weighted sum, and the norm of the keys.
  const double gates = rows * number(spec.columns);
  const double normed = keys * number(spec.width);
  op.parameters = number(spec.ratio * spec.columns + spec.width);
  op.weights = 1;
  op.vectors = 1;
  op.vector_elements = number(spec.width);
  op.forward.vector = {gates * (softmax.forward + 3) + normed * s.counting.rms_norm.forward};
  op.forward.input_bytes = 2 * in;
  op.forward.weight_bytes = op.parameters * precision.parameter_bytes;
  op.forward.output_bytes = out;
  op.backward.vector = {gates * (softmax.forward + softmax.backward + 4) +
                        normed * s.counting.rms_norm.backward};
  op.backward.input_bytes = out;
  op.backward.output_bytes = 2 * in;
  op.backward.other_bytes = 2 * in + out;
  op.backward.weight_bytes = s.trained ? op.parameters * precision.gradient_bytes : 0;
  op.kept_bytes = 2 * in + out;
  to.push_back(op);
}

void add_compressed_projections(const DeviceShare& s, const LayerKind& kind,
                                std::vector<Operation>& to) {
  const Transformer& m = s.model;
  const CompressedAttention& c = *m.compressed;
  const bool compresses = kind.mixer == Mixer::compressed;
  // Keys are made from a device's rows of the stream. They are gathered together with the input of
  // the queries.
  const Int keys = m.head_size + (compresses ? m.head_size / compression(m, kind) : 0);
  to.push_back(linear(
      s, {.name = "q_down", .shape = {s.tokens, m.hidden, c.query_rank}, .replicated = true}));
  to.push_back(row_norm(s, "q_latent_norm", number(s.stream_rows), c.query_rank));
  to.push_back(
      linear(s, {.name = "q_up",
                 .shape = {s.tokens, c.query_rank, s.heads * m.head_size * s.split.features},
                 .also_gathered = keys}));
  // The queries of a head are scaled to one length, without a gain.
  to.push_back(row_norm(s, "q_head_norm", number(s.work_rows * s.heads), m.head_size));
  to.back().parameters = to.back().vector_elements = 0;
  to.back().vectors = 0;
  to.back().forward.weight_bytes = to.back().backward.weight_bytes = 0;
  to.push_back(linear(s, {.name = "kv_down",
                          .shape = {s.tokens, m.hidden, m.head_size},
                          .replicated = true,
                          .keeps_input = false}));
  to.push_back(row_norm(s, "kv_latent_norm", number(s.stream_rows), m.head_size));
  if (!compresses) return;
  const Int columns = (kind.indexes ? 2 : 1) * m.head_size;
  add_compressor(s,
                 {.projection = "compress_proj",
                  .name = "compress",
                  .width = m.head_size,
                  .columns = columns,
                  .ratio = compression(m, kind)},
                 to);
}

// Each group of heads has a weight of its own: all rows pass through those of this device in one
// batched product.
Operation group_projection(const DeviceShare& s) {
  const CompressedAttention& c = *s.model.compressed;
  const Int groups = c.output_groups / s.split.features;
  const Int parts = s.tokens / s.stream_rows;  // `linear` takes one of them where W is replicated
  const Int width = s.model.heads * s.model.head_size / c.output_groups;
  Operation op = linear(s, {.name = "attention_group_proj",
                            .shape = {s.work_rows * groups * parts, width, c.output_rank},
                            .replicated = true,
                            .groups = groups,
                            .input_read_again = s.plan.kernels.fused_attention});
  op.forward.kernels = op.backward.kernels = 1;
  return op;
}

}  // namespace stepscope
