// SPDX-License-Identifier: Apache-2.0
// Operations before the first layer and after the last: embeddings divided by vocabulary over tp
// (Shoeybi et al. 2019), the projection onto the vocabulary, and the cross-entropy of divided
// logits.
#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

using enum CollectiveKind;

// Rows of tables that are identical on all ranks of tp and are added to the stream.
double added_tables(const Transformer& m) {
  return (m.positions == Positions::learned ? number(m.max_positions) : 0) + number(m.token_types);
}

// Each rank looks up the tokens of its part of the vocabulary. The partial rows are summed.
Operation token_embedding(const DeviceShare& s) {
  const Transformer& m = s.model;
  const bool one_d = s.plan.tensor.layout == TensorLayout::one_d;
  const double devices = number(s.plan.tp);
  const double rows = number(padded_vocabulary(m, s.plan));
  const double out = number(one_d ? s.tokens : s.stream_rows) * s.stream_columns * s.element;
  const double looked_up = number(s.tokens) * number(m.hidden) / devices;
  const auto& precision = s.plan.precision;
  Operation op{.name = "token_embedding", .kind = OperationClass::embedding};
  op.parameters = rows * number(m.hidden) / devices;
  op.weights = 1;
  op.forward.weight_bytes = looked_up * precision.parameter_bytes;
  op.forward.output_bytes = out;
  op.forward.other_bytes = 8 * number(s.tokens);  // 64-bit ids
  op.backward.vector = {looked_up};
  op.backward.input_bytes = out;
  // The gradient is dense: every row is written, and looked-up rows are added to.
  op.backward.weight_bytes = (op.parameters + 2 * looked_up) * precision.gradient_bytes;
  op.backward.other_bytes = 8 * number(s.tokens);
  op.kept_bytes = statistics(s, 8 * number(s.tokens));
  const double whole = number(s.tokens) * number(m.hidden) * s.element;
  if (one_d) {
    std::vector<LayoutCall> sums;
    add_reduction(sums, s.plan.tp, s.parts(), number(s.tokens) * number(m.hidden));
    for (const LayoutCall& c : sums) {
      op.forward.communications.push_back(
          {.kind = c.kind, .dim = c.dim, .bytes = c.elements * s.element});
    }
    if (s.sequence_parallel()) {
      op.backward.communications.push_back(
          {.kind = all_gather, .dim = sequence_dim(s.plan.tp, s.parts()), .bytes = whole});
    }
    return op;
  }
  // Grids: vocabulary by rows, features as in the stream. The devices of a column (of a row if
  // there is only one in 3d) sum their looked-up rows.
  const bool rows_of_one = s.grid.rows == 1;
  const bool flat = s.plan.tensor.layout != TensorLayout::three_d || s.grid.columns == 1;
  if (rows_of_one && flat) return op;
  const ParallelDim dim = rows_of_one ? ParallelDim::tensor_row : ParallelDim::tensor_column;
  const double part = whole / number(s.stream_parts);
  op.forward.communications.push_back({.kind = reduce_scatter, .dim = dim, .bytes = part});
  op.backward.communications.push_back({.kind = all_gather, .dim = dim, .bytes = part});
  return op;
}

Operation patch_embedding(const DeviceShare& s) {
  const Patches& p = *s.model.patches;
  // The class token is a parameter and not a patch.
  const std::int64_t all = image_tokens(p);
  const std::int64_t tokens = s.tokens / all * (all - (p.class_token ? 1 : 0)) +
                              s.tokens % all;  // of images divided by context parallelism
  return linear(s, {.name = "patch_embedding",
                    .shape = {tokens, p.patch * p.patch * p.channels, s.model.hidden},
                    .replicated = true,
                    .bias = true,
                    .input_gradient = false});
}

Operation position_embedding(const DeviceShare& s) {
  const double tables = added_tables(s.model);
  Operation op = pointwise(s, {.name = "position_embedding",
                               .count = s.counting.residual,
                               .elements = s.stream(),
                               .second_reads = 1,
                               .gradient_writes = 0});
  op.kind = OperationClass::embedding;
  op.parameters = tables * s.stream_columns;
  op.weights = 1;
  op.backward.weight_bytes = op.parameters * s.plan.precision.gradient_bytes;
  return op;
}

// Each device's part of the output: vocabulary, or classes of one token per image.
struct Output {
  std::int64_t rows = 0;     // over all tp devices
  std::int64_t columns = 0;  // of the projection
};

Output output_of(const DeviceShare& s) {
  if (s.model.classes > 0) return {s.plan.batch.micro, s.model.classes};
  return {s.tokens, padded_vocabulary(s.model, s.plan)};
}

Operation projection(const DeviceShare& s) {
  const Output out = output_of(s);
  Operation op = linear(s, {.name = "lm_head",
                            .shape = {out.rows, s.model.hidden, out.columns},
                            .bias = s.model.head_bias,
                            .always_16_bit = true,
                            .input_gradient = trains_before_head(s.model, s.plan.trained)});
  const bool own = !s.model.tied_embeddings || s.model.classes > 0 || s.plan.pp > 1;
  if (!own) op.parameters = s.model.head_bias ? number(out.columns) / number(s.split.features) : 0;
  return op;
}

// Logits in fp32, kept as their exponentials (Korthikanti et al. 2022: 4 s b V / t). All devices
// with a part of the row exchange three numbers per token (maximum, its own logit, sum).
Operation cross_entropy(const DeviceShare& s) {
  const Output out = output_of(s);
  const double tokens = number(out.rows) / number(s.split.tokens);
  const double logits = tokens * number(out.columns) / number(s.split.features);
  Operation op{.name = "cross_entropy", .kind = OperationClass::loss};
  op.forward.vector = {s.counting.softmax.forward * logits};
  op.forward.input_bytes = logits * s.element;
  op.forward.output_bytes = 4 * logits;
  op.forward.other_bytes = 8 * tokens;
  op.backward.vector = {s.counting.softmax.backward * logits};
  op.backward.other_bytes = 4 * logits + 8 * tokens;
  op.backward.output_bytes = logits * s.element;
  op.kept_bytes = s.plan.kernels.loss_in_place ? 0 : 4 * logits;
  if (!s.plan.kernels.fused_loss) {
    // One operation after the other, in fp32: maximum, exponential, sum and logarithm reread the
    // output of the cast. Backward has the loss's own gradient, the softmax's and the cast's.
    op.forward.other_bytes += 4 * 4 * logits;
    if (eager(s)) op.forward.mixed_bytes = (s.element + 4) * logits;  // the cast
    op.backward.other_bytes += 4 * 4 * logits;
    // Zeros in which the loss sets its gradient; the softmax's gradient reads both operands twice.
    if (eager(s)) op.backward.other_bytes += 2 * 4 * logits;
  }
  if (s.grid.columns > 1) {
    const bool one_d = s.plan.tensor.layout == TensorLayout::one_d;
    op.forward.communications.push_back(
        {.kind = all_reduce,
         .dim = one_d ? ParallelDim::tensor : ParallelDim::tensor_row,
         .bytes = 4 * tokens,
         .count = 3});
  }
  return op;
}

void add_head_transform(const DeviceShare& s, std::vector<Operation>& to) {
  const std::int64_t h = s.model.hidden;
  to.push_back(linear(
      s, {.name = "head_transform", .shape = {s.tokens, h, h}, .replicated = true, .bias = true}));
  to.push_back(activation(s, "head_activation", s.stream(), false));
  to.push_back(stream_norm(s, "head_norm", true));
}

// The next token's embedding joins the stream: one product of both. With hyper-connections it is
// projected alone and added to the projection of each stream.
void add_join(const DeviceShare& s, std::vector<Operation>& to) {
  const std::int64_t h = s.model.hidden;
  const std::int64_t n = streams(s.model);
  to.push_back(stream_norm(s, "prediction_token_norm", false));
  to.push_back(stream_norm(s, "prediction_norm", true, n));
  const auto project = [&](std::string_view name, std::int64_t rows, std::int64_t in) {
    to.push_back(linear(s, {.name = name, .shape = {rows, in, h}, .replicated = true}));
  };
  if (n == 1) return project("prediction_proj", s.tokens, 2 * h);
  project("prediction_token_proj", s.tokens, h);
  project("prediction_proj", s.tokens * n, h);
  to.push_back(pointwise(s, {.name = "prediction_sum",
                             .count = s.counting.residual,
                             .elements = number(n) * s.stream(),
                             .second_reads = 1 / number(n),
                             .gradient_writes = 1 / number(n)}));
}

// A dense layer on the first token of each sequence.
Operation pooler(const DeviceShare& s) {
  const std::int64_t h = s.model.hidden;
  return linear(s, {.name = "pooler", .shape = {s.plan.batch.micro, h, h}, .bias = true});
}

}  // namespace

std::int64_t padded_vocabulary(const Transformer& model, const Plan& plan) {
  const std::int64_t multiple = plan.kernels.vocabulary_multiple * plan.tp;
  return (model.vocabulary + multiple - 1) / multiple * multiple;
}

std::vector<Operation> embedding_operations(const Transformer& model, const Plan& plan,
                                            const Counting& counting) {
  DeviceShare share = device_share(model, plan, counting);
  share.trained = trains(plan.trained, ModelPart::embedding);
  std::vector<Operation> ops;
  if (model.patches) {
    ops.push_back(patch_embedding(share));
    if (model.patches->class_token) ops.back().parameters += share.stream_columns;
  }
  if (model.vocabulary > 0) ops.push_back(token_embedding(share));
  if (added_tables(model) > 0) ops.push_back(position_embedding(share));
  if (model.embedding_norm) ops.push_back(stream_norm(share, "embedding_norm", false));
  if (model.dropout > 0) ops.push_back(dropout(share, "embedding_dropout", share.stream()));
  expand_streams(share, ops);
  if (!share.trained) finish_frozen(share, {}, LayerTraining::forward_only, ops);
  return ops;
}

std::vector<Operation> prediction_operations(const Transformer& model, const Plan& plan,
                                             const Counting& counting) {
  DeviceShare share = device_share(model, plan, counting);
  const LayerTraining training = layer_training(plan.trained, model.layers);
  share.trained = training == LayerTraining::weights;
  std::vector<Operation> ops;
  add_join(share, ops);
  for (const LayerKind& kind : prediction_kinds(model)) {
    std::vector<Operation> layer;
    share.heads = heads_of(model, kind) / share.split.features;
    add_kind(share, kind, layer);
    if (!share.trained) finish_frozen(share, kind, training, layer);
    ops.insert(ops.end(), layer.begin(), layer.end());
  }
  if (!share.trained && training == LayerTraining::forward_only) leave_backward_out(ops);
  return ops;
}

std::vector<Operation> prediction_head_operations(const Transformer& model, const Plan& plan,
                                                  const Counting& counting) {
  DeviceShare share = device_share(model, plan, counting);
  share.trained = layer_training(plan.trained, model.layers) == LayerTraining::weights;
  std::vector<Operation> ops;
  end_streams(share, ops);
  ops.push_back(stream_norm(share, "prediction_final_norm", true));
  share.trained = trains(plan.trained, ModelPart::head);  // the head's weights
  ops.push_back(projection(share));
  ops.back().name = "prediction_lm_head";
  ops.back().parameters = 0;  // the head's
  ops.push_back(cross_entropy(share));
  ops.back().name = "prediction_loss";
  return ops;
}

std::vector<Operation> head_operations(const Transformer& model, const Plan& plan,
                                       const Counting& counting) {
  DeviceShare share = device_share(model, plan, counting);
  share.trained = trains(plan.trained, ModelPart::head);
  std::vector<Operation> ops;
  end_streams(share, ops);
  if (model.final_norm) ops.push_back(stream_norm(share, "final_norm", true));
  if (model.pooler) ops.push_back(pooler(share));
  if (!model.head) return ops;
  if (model.head_transform) add_head_transform(share, ops);
  ops.push_back(projection(share));
  ops.push_back(cross_entropy(share));
  return ops;
}

}  // namespace stepscope
