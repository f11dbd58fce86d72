// SPDX-License-Identifier: Apache-2.0
// The cost of each kind of operation on one device. The conventions of counting are applied here.
#include "stepscope/cost/layer/operation_parts.h"

#include <algorithm>

namespace stepscope {
namespace {

using enum CollectiveKind;

// Without a layout: every device has the whole W and its own rows.
LinearLayout alone(const DeviceShare& s, const LinearShape& shape) {
  const std::int64_t rows = shape.tokens / (s.tokens / s.stream_rows);
  return {.input = {rows, shape.in},
          .weight = {shape.in, shape.out},
          .output = {rows, shape.out},
          .input_elements = number(rows) * number(shape.in),
          .weight_elements = number(shape.in) * number(shape.out),
          .output_elements = number(rows) * number(shape.out),
          .product = {.m = rows, .n = shape.out, .k = shape.in}};
}

Communication communication(const LayoutCall& call, double element, double also) {
  return {.kind = call.kind,
          .dim = call.dim,
          .bytes = (call.elements + also) * element,
          .count = call.count,
          .can_overlap = true};
}

// The end of a reduction to the copies of a part of the sequence (add_reduction).
bool completes_reduction(const LayoutCall& c) { return c.dim == ParallelDim::sequence_copies; }

// The parts of a sequence come together.
bool gathers(const LayoutCall& c) { return c.kind == all_gather && !completes_reduction(c); }

bool is_reduction(CollectiveKind kind) {
  return kind == reduce_scatter || kind == all_reduce || kind == reduce;
}

void count_reductions(const std::vector<LayoutCall>& calls, Flops& flops) {
  for (const LayoutCall& c : calls) {
    if (!is_reduction(c.kind)) continue;
    flops.value += number(c.count) * c.elements * number(c.group - 1) / number(c.group);
  }
}

// The calls of the layout that this operation makes itself.
struct Calls {
  std::vector<LayoutCall> forward;
  std::vector<LayoutCall> backward;
};

// DTensor passes the gathered input to autograd, so no second gather is needed.
bool keeps_gathered(const DeviceShare& s, const LinearSpec& spec) {
  return s.counting.keeps_gathered || spec.keeps_gathered || s.plan.memory.torch_buffers;
}

Calls own_calls(const DeviceShare& s, const LinearSpec& spec, const LinearLayout& l) {
  Calls own{l.forward, l.input_gradient};
  if (!spec.input_gradient) own.backward.clear();
  own.backward.insert(own.backward.end(), l.weight_gradient.begin(), l.weight_gradient.end());
  if (s.plan.tensor.layout != TensorLayout::one_d) return own;
  const bool first = spec.place == LinearPlace::first;
  const bool writer = s.counting.gather_place == GatherPlace::writer;
  const bool gathered = keeps_gathered(s, spec) || !spec.gathers_input;
  std::erase_if(own.forward, [&](const LayoutCall& c) {
    return gathers(c) ? writer || !spec.gathers_input : !spec.reduces_output;
  });
  std::erase_if(own.backward, [&](const LayoutCall& c) {
    if (!gathers(c)) return !spec.reduces_gradient;
    return first ? gathered : writer || !spec.reduces_output;
  });
  return own;
}

void count_products(const DeviceShare& s, const LinearSpec& spec, const LinearLayout& l,
                    Operation& op) {
  const auto& [batch, m, n, k] = l.product;
  const double steps = number(l.steps);
  const double product = steps * 2 * number(m) * number(n) * number(k);
  const double gradients = (spec.input_gradient ? 1 : 0) + (s.trained ? 1 : 0);
  op.forward.matrix = {product};
  op.backward.matrix = {gradients * product};
  if (s.counting.exact_adds) {
    op.forward.matrix -= {number(m) * number(n)};
    op.backward.matrix -=
        {number(k) * ((s.trained ? number(n) : 0) + (spec.input_gradient ? number(m) : 0))};
  }
  const Flops bias{spec.bias ? number(m) * number(n) : 0};
  (s.counting.exact_adds ? op.forward.matrix : op.forward.vector) += bias;
  if (s.trained) (s.counting.exact_adds ? op.backward.matrix : op.backward.vector) += bias;
  // The tokens of an expert misalign no product: no matrix has rows of that length, and narrow
  // formats pad them.
  const std::int64_t each = (m + spec.groups - 1) / spec.groups;
  const std::int64_t rows = spec.groups > 1 ? (each + 7) / 8 * 8 : each;
  for (std::int64_t step = 0; step < l.steps; ++step) {
    op.forward.matmuls.push_back({spec.groups, rows, n, k});
    if (spec.input_gradient) op.backward.matmuls.push_back({spec.groups, rows, k, n});
    if (s.trained) op.backward.matmuls.push_back({spec.groups, k, n, rows});
  }
  if (!s.plan.kernels.grouped_experts) op.forward.kernels = op.backward.kernels = spec.groups;
}

void count_traffic(const DeviceShare& s, const LinearSpec& spec, const LinearLayout& l,
                   Operation& op) {
  const double steps = number(l.steps);
  const auto& [batch, m, n, k] = l.product;
  const double x = steps * number(m) * number(k) * s.element;
  const double y = number(m) * number(n) * s.element;
  const double w = steps * number(n) * number(k) * number(spec.groups);
  const double bias = spec.bias ? number(n) * number(spec.groups) : 0;
  const auto& bytes = s.plan.precision;
  // Traffic counts 16 bits; the rate of a narrower format takes its part of them (compute_time.h).
  const double width =
      below_16_bits(bytes.matmul) ? std::max(2, bytes.parameter_bytes) : bytes.parameter_bytes;
  op.forward.input_bytes = x;
  op.forward.weight_bytes = (w + bias) * width;
  op.forward.output_bytes = y * (2 * steps - 1);  // each further product adds to the first
  double gradient_reads = every_read(s) && spec.input_gradient && s.trained ? 2 : 1;
  if (spec.bias && s.trained && every_read(s) && !s.plan.kernels.fused_pointwise)
    gradient_reads += 1;
  op.backward.input_bytes = gradient_reads * steps * y;
  if (spec.bias && s.trained && every_read(s) && eager(s)) op.backward.apart_bytes = steps * y;
  op.backward.output_bytes = spec.input_gradient ? x : 0;
  op.backward.other_bytes = s.trained ? x : 0;
  const double read_again = every_read(s) ? w : w + bias;
  op.backward.weight_bytes = (spec.input_gradient ? read_again * width : 0) +
                             (s.trained ? (w + bias) * bytes.gradient_bytes : 0);
}

// E5M6 in 12 bits, and 4 bytes of scale for each 128 elements (DeepSeek-AI 2024 §3.3.3).
constexpr double narrow_output_bytes = 1.5 + 4.0 / 128;

// Bytes of a kept element of the input. The product of the weight's gradient reads it in the
// plan's format, so Transformer Engine keeps no wider copy. PyTorch's float8 casts again.
double kept_width(const DeviceShare& s, const LinearSpec& spec) {
  const Dtype format = s.plan.precision.matmul;
  if (spec.input_read_again && s.plan.memory.narrow_attention_output) return narrow_output_bytes;
  if (spec.always_16_bit || !s.trained || s.plan.memory.torch_buffers || !below_16_bits(format))
    return s.element;
  return operand_bytes(format) + (spec.input_read_again ? s.element : 0);
}

double kept_input(const DeviceShare& s, const LinearSpec& spec, const LinearLayout& l) {
  if (!spec.keeps_input || (!s.trained && !spec.input_read_again)) return 0;
  const double width = kept_width(s, spec);
  if (!keeps_gathered(s, spec) || s.plan.tensor.layout != TensorLayout::one_d)
    return l.input_elements * width;
  return number(l.product.m) * number(l.product.k) * width;
}

}  // namespace

DeviceShare device_share(const Transformer& model, const Plan& plan, const Counting& counting) {
  const DeviceGrid grid = device_grid(plan);
  const ActivationSplit split = activation_split(plan.tensor.layout, grid);
  const ActivationSplit stream = stream_split(plan.tensor.layout, grid);
  const std::int64_t tokens = plan.batch.micro * plan.batch.sequence / plan.cp;
  const bool one_d = plan.tensor.layout == TensorLayout::one_d;
  const std::int64_t work_rows = (tokens + split.tokens - 1) / split.tokens;
  const std::int64_t kv = model.kv_heads / split.features;
  return {.model = model,
          .plan = plan,
          .counting = counting,
          .grid = grid,
          .split = split,
          .tokens = tokens,
          .work_rows = work_rows,
          .stream_rows =
              one_d ? tokens / sequence_parts(plan) : (tokens + stream.tokens - 1) / stream.tokens,
          .stream_parts = stream.features,
          .stream_columns = number(model.hidden) / number(stream.features),
          .heads = model.heads / split.features,
          .kv_heads = kv > 0 ? kv : 1,
          .element = number(plan.precision.activation_bytes)};
}

Operation linear(const DeviceShare& share, const LinearSpec& spec) {
  const bool one_d = share.plan.tensor.layout == TensorLayout::one_d;
  const LinearLayout l = spec.replicated && one_d
                             ? alone(share, spec.shape)
                             : linear_layout(share.plan.tensor.layout, share.grid, spec.shape,
                                             spec.place, share.parts());
  Operation op{.name = spec.name, .kind = OperationClass::matmul};
  count_products(share, spec, l, op);
  count_traffic(share, spec, l, op);
  op.kept_bytes = kept_input(share, spec, l);
  op.trained = share.trained;
  if (one_d && !spec.replicated)
    op.cut = spec.place == LinearPlace::first ? WeightCut::columns : WeightCut::rows;
  // Only a sum reads the second of two. Its gradient needs no value, and a compiler knows this.
  const bool read_again = !share.plan.kernels.compiled || spec.place == LinearPlace::first;
  op.products = 1;
  op.product_outputs[0] = read_again ? op.forward.output_bytes : 0;
  op.parameters = number(spec.groups) * (l.weight_elements + (spec.bias ? number(l.product.n) : 0));
  op.weights = spec.groups;
  op.vectors = spec.bias ? spec.groups : 0;
  op.vector_elements = number(op.vectors) * number(l.product.n);
  const Calls own = own_calls(share, spec, l);
  for (const LayoutCall& c : own.forward) {
    const double also = gathers(c) ? number(spec.also_gathered * spec.shape.tokens) : 0;
    op.forward.communications.push_back(communication(c, share.element, also));
  }
  for (const LayoutCall& c : own.backward) {
    const bool summed = is_reduction(c.kind) || completes_reduction(c);
    double also = summed && spec.place == LinearPlace::first
                      ? number(spec.also_gathered * spec.shape.tokens)
                      : 0;
    if (completes_reduction(c)) also /= number(share.parts());
    op.backward.communications.push_back(communication(c, share.element, also));
  }
  if (share.counting.reduction_adds) {
    count_reductions(own.forward, op.forward.matrix);
    count_reductions(own.backward, op.backward.matrix);
  }
  return op;
}

double statistics(const DeviceShare& share, double bytes) {
  return share.counting.statistics ? bytes : 0;
}

void gather_at_writer(const DeviceShare& share, Pass& pass) {
  if (!share.sequence_parallel() || share.counting.gather_place != GatherPlace::writer) return;
  pass.communications.push_back(
      {.kind = all_gather,
       .dim = sequence_dim(share.plan.tp, share.parts()),
       .bytes = number(share.tokens) * number(share.model.hidden) * share.element});
}

Operation norm(const DeviceShare& share, const NormSpec& spec) {
  const bool layer = spec.norm == Norm::layer_norm;
  const VectorCount& count = layer ? share.counting.layer_norm : share.counting.rms_norm;
  const double floats = layer ? 2 : 1;
  const double n = spec.rows * spec.width / spec.parts;
  const double bytes = n * share.element;
  const double row_bytes = statistics(share, 4 * floats * spec.rows);
  const auto& precision = share.plan.precision;
  Operation op{.name = spec.name, .kind = OperationClass::norm};
  op.forward.vector = {count.forward * n - count.forward_row * spec.rows};
  op.forward.input_bytes = bytes;
  op.forward.output_bytes = bytes;
  op.forward.weight_bytes = spec.parameters * precision.parameter_bytes;
  op.forward.other_bytes = row_bytes;
  op.backward.vector = {count.backward * n - count.backward_row * spec.rows};
  op.backward.input_bytes = bytes;
  op.backward.output_bytes = bytes;
  op.backward.weight_bytes = spec.parameters * precision.gradient_bytes;
  if (!share.trained) op.backward.weight_bytes = 0;
  if (every_read(share)) op.backward.weight_bytes += spec.parameters * precision.parameter_bytes;
  op.backward.other_bytes = bytes + row_bytes;
  op.kept_bytes = bytes + row_bytes;
  op.trained = share.trained;
  op.parameters = spec.parameters;
  op.vectors = layer && share.model.norm_bias ? 2 : 1;
  op.vector_elements = spec.parameters;
  if (spec.parts > 1) {
    // Each device has a part of every row, so sums over a row are added up.
    const Communication sums{.kind = all_reduce,
                             .dim = stream_row_dim(share.plan.tensor.layout),
                             .bytes = 4 * floats * spec.rows};
    op.forward.communications.push_back(sums);
    op.backward.communications.push_back(sums);
  }
  if (spec.gathered) gather_at_writer(share, op.forward);
  return op;
}

Operation stream_norm(const DeviceShare& share, std::string_view name, bool gathered,
                      std::int64_t streams) {
  const Transformer& m = share.model;
  const double vectors = m.norm == Norm::layer_norm && m.norm_bias ? 2 : 1;
  return norm(share, {.name = name,
                      .norm = m.norm,
                      .rows = number(streams * share.stream_rows),
                      .width = number(m.hidden),
                      .parts = number(share.stream_parts),
                      .parameters = vectors * share.stream_columns,
                      .gathered = gathered});
}

Operation pointwise(const DeviceShare& share, const PointwiseSpec& spec) {
  const double bytes = spec.elements * share.element;
  const double kept = spec.kept * share.element;
  Operation op{.name = spec.name, .kind = OperationClass::pointwise};
  op.forward.vector = {spec.count.forward * spec.elements};
  op.forward.input_bytes = spec.reads * bytes;
  op.forward.output_bytes = spec.writes * bytes;
  op.forward.other_bytes = spec.second_reads * bytes + spec.mask_bytes;
  op.backward.vector = {spec.count.backward * spec.elements};
  op.backward.input_bytes = spec.gradient_reads * bytes;
  op.backward.output_bytes = spec.gradient_writes * bytes;
  op.backward.other_bytes = kept + spec.mask_bytes;
  if (share.counting.backward_traffic == BackwardTraffic::one_gradient) {
    op.backward.output_bytes = 0;
  }
  op.kept_bytes = kept + spec.mask_bytes;
  return op;
}

Operation dropout(const DeviceShare& share, std::string_view name, double elements) {
  return pointwise(share, {.name = name,
                           .count = share.counting.dropout,
                           .elements = elements,
                           .mask_bytes = elements});
}

void add_residual(const DeviceShare& share, std::string_view dropout_name,
                  std::string_view residual_name, bool gathered, std::vector<Operation>& to) {
  const bool drops = share.model.dropout > 0;
  const std::size_t end = to.size();
  if (drops) to.push_back(dropout(share, dropout_name, share.stream()));
  if (share.model.hyper) {
    to.push_back(merge_streams(share));
    if (gathered) gather_at_writer(share, to[std::min(end, to.size() - 1)].backward);
    return;
  }
  // In one pass with the dropout, only the stream itself is additional.
  const bool joined = share.plan.kernels.fused_pointwise && drops;
  const bool fused = share.plan.kernels.fused_pointwise;
  if (share.counting.residual_additions) {
    to.push_back(pointwise(share, {.name = residual_name,
                                   .count = share.counting.residual,
                                   .elements = share.stream(),
                                   .reads = joined ? 0.0 : 1.0,
                                   .second_reads = 1,
                                   .writes = joined ? 0.0 : 1.0,
                                   .gradient_reads = fused ? 1.0 : 2.0,
                                   .gradient_writes = fused ? 0.0 : 1.0}));
  }
  if (gathered) gather_at_writer(share, to[std::min(end, to.size() - 1)].backward);
}

bool shares_norm(const Transformer& model) {
  return model.parallel_block && model.norms_per_layer < 2;
}

bool merges_branches(const Transformer& model) {
  return model.parallel_block && model.dropout == 0;
}

}  // namespace stepscope
