// SPDX-License-Identifier: Apache-2.0
// The least bytes an operator moves. Inputs are as recorded. The output follows from the operator's
// kind: one entry per kind, with the operators of that kind in one list.
#include <algorithm>
#include <array>
#include <span>

#include "stepscope/analysis/work/op_flops.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

using Words = std::span<const std::string_view>;
using Count = std::optional<std::int64_t>;

bool contains(Words list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// Writes one tensor of the broadcast shape of its inputs. In place ("add_") that is the first
// input.
constexpr auto pointwise = std::to_array<std::string_view>({"add",
                                                            "sub",
                                                            "rsub",
                                                            "mul",
                                                            "div",
                                                            "true_divide",
                                                            "neg",
                                                            "abs",
                                                            "exp",
                                                            "log",
                                                            "sqrt",
                                                            "rsqrt",
                                                            "square",
                                                            "pow",
                                                            "sin",
                                                            "cos",
                                                            "tanh",
                                                            "sigmoid",
                                                            "relu",
                                                            "gelu",
                                                            "silu",
                                                            "elu",
                                                            "leaky_relu",
                                                            "threshold",
                                                            "hardtanh",
                                                            "clamp",
                                                            "clamp_min",
                                                            "clamp_max",
                                                            "where",
                                                            "masked_fill",
                                                            "lerp",
                                                            "addcmul",
                                                            "addcdiv",
                                                            "reciprocal",
                                                            "remainder",
                                                            "maximum",
                                                            "minimum",
                                                            "erf",
                                                            "log2",
                                                            "ceil",
                                                            "floor",
                                                            "nan_to_num",
                                                            "gelu_backward",
                                                            "silu_backward",
                                                            "sigmoid_backward",
                                                            "tanh_backward",
                                                            "threshold_backward",
                                                            "native_dropout_backward",
                                                            "_softmax",
                                                            "_log_softmax",
                                                            "_softmax_backward_data",
                                                            "_log_softmax_backward_data",
                                                            "mse_loss_backward",
                                                            "elu_backward",
                                                            "log_sigmoid"});
constexpr auto comparisons =
    std::to_array<std::string_view>({"eq", "ne", "lt", "le", "gt", "ge", "logical_and",
                                     "logical_or", "logical_not", "isnan", "isinf", "isfinite"});
// Writes a tensor of the shape and type of its first input.
constexpr auto like_first = std::to_array<std::string_view>(
    {"native_layer_norm", "_fused_rms_norm", "native_batch_norm", "cudnn_batch_norm",
     "miopen_batch_norm", "native_group_norm", "cumsum", "flip", "roll", "clone", "batch_norm",
     "_batch_norm_with_update"});
// Writes a tensor of the shape and type of its second input: (grad_output, input, …) → grad_input.
// The parameters' gradients are small.
constexpr auto like_second = std::to_array<std::string_view>(
    {"native_layer_norm_backward", "native_batch_norm_backward", "_fused_rms_norm_backward",
     "native_group_norm_backward", "batch_norm_backward"});
// (input, grad_output, …) → grad_input
constexpr auto cudnn_norm_backward =
    std::to_array<std::string_view>({"cudnn_batch_norm_backward", "miopen_batch_norm_backward"});
constexpr auto reductions = std::to_array<std::string_view>(
    {"sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "argmax", "argmin",
     "linalg_vector_norm", "norm", "var", "std", "mse_loss"});
constexpr auto products = std::to_array<std::string_view>({"mm", "bmm", "linear", "_scaled_mm"});
constexpr auto added_products =
    std::to_array<std::string_view>({"addmm", "baddbmm", "addmm_", "baddbmm_"});

// Empty on overflow too: shapes come from a file.
Count times(Count a, Count b) {
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}
Count sum_of(Count a, Count b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Count bytes_of(const Dims& dims, std::string_view type) {
  return times(element_bytes(type), element_count(dims));
}

Count tensor_bytes(const OpInputs& inputs, std::size_t i) {
  const Dims* dims = inputs.tensor(i);
  return dims == nullptr ? std::nullopt : bytes_of(*dims, inputs.args[i].type);
}

// Bytes of all tensor inputs; empty if one has no known width or there are none.
Count read_bytes(const OpInputs& inputs) {
  Count sum;
  for (std::size_t i = 0; i < inputs.args.size(); ++i) {
    if (!inputs.args[i].is_tensor()) continue;
    sum = sum_of(sum.value_or(0), tensor_bytes(inputs, i));
    if (!sum) return std::nullopt;
  }
  return sum;
}

// Bytes of the broadcast shape, with the widest type of the tensors that have a dimension.
Count broadcast_bytes(const OpInputs& inputs, Count width) {
  Dims shape;
  Count widest;
  for (const OpInput& input : inputs.args) {
    if (!input.is_tensor()) continue;
    const Dims& dims = input.dims;
    if (dims.size() > shape.size()) shape.insert(shape.begin(), dims.size() - shape.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& extent = shape[shape.size() - dims.size() + i];
      if (extent != dims[i] && extent != 1 && dims[i] != 1) return std::nullopt;
      extent = extent == 1 ? dims[i] : extent;
    }
    const Count own = element_bytes(input.type);
    if (own && (!dims.empty() || !widest)) widest = std::max(widest.value_or(0), *own);
  }
  return times(element_count(shape), width ? width : widest);
}

// The output has the input's dimensions except those named by "dim"; without a list it is one
// element.
Count reduced_bytes(const OpInputs& inputs) {
  const Dims* dims = inputs.tensor(0);
  const Count width = dims == nullptr ? std::nullopt : element_bytes(inputs.args[0].type);
  if (!width) return std::nullopt;
  auto over = inputs.integers(1);
  if (const auto one = inputs.integer(1); one && !over) over = Dims{*one};
  if (!over || over->empty()) return width;
  Dims kept = *dims;
  const auto rank = static_cast<std::int64_t>(kept.size());
  for (const std::int64_t dim : *over) {
    if (dim < -rank || dim >= rank) return std::nullopt;
    kept[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = 1;
  }
  return bytes_of(kept, inputs.args[0].type);
}

// Bytes of one element that _scaled_mm writes: c10's ScalarType number, or the type of its
// operands.
Count scaled_width(const OpInputs& inputs) {
  const auto type = inputs.integer(6);
  if (!type) return element_bytes(inputs.args[0].type);
  if (*type == 5 || *type == 15) return 2;  // Half, BFloat16
  return *type == 6 ? Count(4) : std::nullopt;
}

// c[m, n] = a[m, k]·b[k, n], with a batch in front for rank 3; linear's weight is transposed. An
// `out` argument is c itself.
Count product_bytes(std::string_view name, const OpInputs& inputs, std::size_t first) {
  const Dims* a = inputs.tensor(first, 1);
  const Dims* b = inputs.tensor(first + 1, 2);
  if (a == nullptr || b == nullptr) return std::nullopt;
  Dims out = *a;
  out.back() = name == "linear" ? b->front() : b->back();
  const Count width =
      name == "_scaled_mm" ? scaled_width(inputs) : element_bytes(inputs.args[first].type);
  const Count operands = sum_of(tensor_bytes(inputs, first), tensor_bytes(inputs, first + 1));
  const Count added = first == 1 ? tensor_bytes(inputs, 0) : Count(0);
  return sum_of(sum_of(operands, added), times(element_count(out), width));
}

// A fused kernel touches each of its arguments once, except where it picks rows or columns of some.
Count fused_bytes(std::string_view name, const OpInputs& inputs) {
  static constexpr auto partial =
      std::to_array<std::string_view>({"embedding", "index", "gather", "scatter", "slice", "select",
                                       "unbind", "split", "chunk", "unfold"});
  return contains_any(name, partial) ? std::nullopt : read_bytes(inputs);
}

// Rows of a table: indices are read; rows are read and written.
Count embedding_bytes(const OpInputs& inputs) {
  const Dims* table = inputs.tensor(0, 2);
  const Dims* indices = inputs.tensor(1);
  if (table == nullptr || indices == nullptr) return std::nullopt;
  Dims rows = *indices;
  rows.push_back(table->back());
  return sum_of(tensor_bytes(inputs, 1), times(2, bytes_of(rows, inputs.args[0].type)));
}

// embedding_dense_backward(grad, indices, num_weights, …) writes the whole table's gradient.
Count embedding_backward_bytes(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(0, 2);
  const auto rows = inputs.integer(2);
  if (grad == nullptr || !rows) return std::nullopt;
  return sum_of(read_bytes(inputs), bytes_of({*rows, grad->back()}, inputs.args[0].type));
}

// copy_(destination, source): reads the source and writes the destination.
Count copy_bytes(const OpInputs& inputs) {
  const Count destination = tensor_bytes(inputs, 0);
  const Dims* source = inputs.tensor(1);
  if (source == nullptr) return std::nullopt;
  return sum_of(destination, bytes_of(*source, inputs.args[1].type));
}

// Query, key, value and output of an attention. A backward also reads the output's gradient and
// writes three gradients.
Count attention_bytes(const OpInputs& inputs, bool backward) {
  const std::size_t q = backward ? 1 : 0;
  const Count query = tensor_bytes(inputs, q);
  const Count pair = sum_of(tensor_bytes(inputs, q + 1), tensor_bytes(inputs, q + 2));
  return sum_of(times(backward ? 4 : 2, query), times(backward ? 2 : 1, pair));
}

Count written_bytes(std::string_view name, const OpInputs& inputs) {
  const bool in_place = name.ends_with('_');
  const std::string_view base = in_place ? name.substr(0, name.size() - 1) : name;
  if (contains(comparisons, base))
    return in_place ? tensor_bytes(inputs, 0) : broadcast_bytes(inputs, 1);
  if (contains(pointwise, base))
    return in_place ? tensor_bytes(inputs, 0) : broadcast_bytes(inputs, {});
  if (contains(like_first, base) || contains(cudnn_norm_backward, name))
    return tensor_bytes(inputs, 0);
  if (contains(like_second, name)) return tensor_bytes(inputs, 1);
  if (contains(reductions, name)) return reduced_bytes(inputs);
  return std::nullopt;
}

Count all_bytes(std::string_view name, const OpInputs& inputs) {
  if (contains(products, name)) return product_bytes(name, inputs, 0);
  if (contains(added_products, name)) return product_bytes(name, inputs, 1);
  if (name.starts_with("triton_")) return fused_bytes(name, inputs);
  if (name == "copy_") return copy_bytes(inputs);
  if (name == "fill_" || name == "zero_") return tensor_bytes(inputs, 0);
  if (name == "embedding") return embedding_bytes(inputs);
  if (name == "embedding_dense_backward") return embedding_backward_bytes(inputs);
  if (attention_flops(name, inputs)) {
    return attention_bytes(inputs, name.ends_with("backward") || name.ends_with("::bwd"));
  }
  return sum_of(read_bytes(inputs), written_bytes(name, inputs));
}

}  // namespace

std::optional<Bytes> moved_bytes(std::string_view base_name, const OpInputs& inputs) {
  const Count bytes = all_bytes(base_name, inputs);
  return bytes ? std::optional(Bytes{*bytes}) : std::nullopt;
}

}  // namespace stepscope
