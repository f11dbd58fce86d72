// SPDX-License-Identifier: Apache-2.0
// Matrix products, and the sum of the parts. Schemas: PyTorch's native_functions.yaml.
#include "stepscope/analysis/work/op_flops.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <initializer_list>

namespace stepscope {
namespace {

double product(std::initializer_list<std::int64_t> factors) {
  double result = 1.0;
  for (const std::int64_t f : factors) result *= static_cast<double>(f);
  return result;
}

// a[m, k] · b[k, n], with a batch in front of both for rank 3.
std::optional<Flops> plain_product(const OpInputs& inputs, std::size_t first, std::size_t rank) {
  const Dims* a = inputs.tensor(first, rank);
  const Dims* b = inputs.tensor(first + 1, rank);
  if (a == nullptr || b == nullptr || a->size() != rank || b->size() != rank) return std::nullopt;
  const std::size_t r = rank - 2;  // dimension of the rows
  if ((*a)[r + 1] != (*b)[r]) return std::nullopt;
  if (rank == 3 && (*a)[0] != (*b)[0]) return std::nullopt;
  return Flops{2.0 * product({rank == 3 ? (*a)[0] : 1, (*a)[r], (*a)[r + 1], (*b)[r + 1]})};
}

// x[..., k] · w[n, k]ᵀ
std::optional<Flops> linear_product(const Dims* x, const Dims* w) {
  if (x == nullptr || w == nullptr || w->size() > 2 || x->back() != w->back()) return std::nullopt;
  const auto rows = element_count(*x);
  if (!rows) return std::nullopt;
  return Flops{2.0 * product({*rows, w->size() == 2 ? w->front() : 1})};
}

// torch.matmul: batches broadcast; vectors are matrices with one row or column.
std::optional<Flops> broadcast_product(const Dims* left, const Dims* right) {
  if (left == nullptr || right == nullptr) return std::nullopt;
  Dims a = *left;
  Dims b = *right;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return std::nullopt;
  double flops = 2.0 * product({a[a.size() - 2], a.back(), b.back()});
  const std::size_t batches = std::max(a.size(), b.size()) - 2;
  for (std::size_t i = 0; i < batches; ++i) {  // from the innermost
    const std::int64_t x = i + 2 < a.size() ? a[a.size() - 3 - i] : 1;
    const std::int64_t y = i + 2 < b.size() ? b[b.size() - 3 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    flops *= static_cast<double>(std::max(x, y));
  }
  return Flops{flops};
}

// The FLOPs of one expert after the other: token-sorted rows a[M, K] with b[G, K, N], columns a[G,
// M, K] with b[K, N], a sum over tokens a[M, K] with b[K, N] (the experts' gradients); or a batch
// of products. Each token meets one expert.
std::optional<Flops> grouped_product(const OpInputs& inputs) {
  const Dims* a = inputs.tensor(0, 2);
  const Dims* b = inputs.tensor(1, 2);
  if (a == nullptr || b == nullptr || a->size() > 3 || b->size() > 3) return std::nullopt;
  if (a->size() == 3 && b->size() == 3) return plain_product(inputs, 0, 3);
  if (a->back() != (*b)[b->size() - 2]) return std::nullopt;
  return Flops{2.0 * product({(*a)[a->size() - 2], a->back(), b->back()})};
}

// einsum("bij,bjk->bik", [a, b]): every distinct letter is a loop if at least one letter is summed.
std::optional<Flops> einsum_product(const OpInputs& inputs) {
  if (inputs.args.size() < 2 || inputs.args[1].list.size() != 2) return std::nullopt;
  const std::string_view text = inputs.concrete(0);
  const std::size_t arrow = text.find("->");
  const std::size_t comma = text.find(',');
  if (arrow == std::string_view::npos || comma > arrow) return std::nullopt;
  const std::string_view result = text.substr(arrow + 2);
  const std::array<std::string_view, 2> letters = {text.substr(0, comma),
                                                   text.substr(comma + 1, arrow - comma - 1)};
  std::bitset<128> seen;
  double flops = 2.0;
  bool sums = false;
  for (std::size_t operand = 0; operand < 2; ++operand) {
    const Dims& dims = inputs.args[1].list[operand];
    std::size_t at = 0;
    for (const char letter : letters[operand]) {
      if (letter == ' ') continue;
      const auto code = static_cast<unsigned char>(letter);
      if (code >= 128 || letter == '.' || at == dims.size()) return std::nullopt;
      if (!seen[code]) flops *= static_cast<double>(dims[at]);
      sums = sums || result.find(letter) == std::string_view::npos;
      seen.set(code);
      ++at;
    }
    if (at != dims.size()) return std::nullopt;
  }
  return sums ? std::optional(Flops{flops}) : std::nullopt;
}

std::optional<Flops> vector_product(const OpInputs& inputs, std::size_t first) {
  const Dims* a = inputs.tensor(first, 1);
  if (a == nullptr || a->size() > 2) return std::nullopt;
  const auto count = element_count(*a);
  if (!count) return std::nullopt;
  return Flops{2.0 * static_cast<double>(*count)};
}

// The schema ends with output_mask. A gradient that is not requested costs nothing.
std::optional<Flops> linear_backward_product(const OpInputs& inputs) {
  const auto one = linear_product(inputs.tensor(0, 1), inputs.tensor(2, 1));
  const auto mask = inputs.flags(3);
  if (!one || !mask || mask->size() < 2) return std::nullopt;
  return *one * (double{(*mask)[0] ? 1.0 : 0.0} + ((*mask)[1] ? 1.0 : 0.0));
}

std::optional<Flops> product_flops(std::string_view name, const OpInputs& inputs) {
  if (name == "mm" || name == "_scaled_mm" || name == "_int_mm") return plain_product(inputs, 0, 2);
  if (name == "addmm" || name == "addmm_" || name == "_addmm_activation")
    return plain_product(inputs, 1, 2);
  if (name == "bmm") return plain_product(inputs, 0, 3);
  if (name == "baddbmm" || name == "baddbmm_" || name == "addbmm")
    return plain_product(inputs, 1, 3);
  if (name == "linear" || name == "mkldnn_linear" || name == "_mkldnn_linear")
    return linear_product(inputs.tensor(0, 1), inputs.tensor(1, 1));
  if (name == "matmul") return broadcast_product(inputs.tensor(0, 1), inputs.tensor(1, 1));
  if (name == "_grouped_mm" || name == "_scaled_grouped_mm") return grouped_product(inputs);
  if (name == "einsum") return einsum_product(inputs);
  if (name == "mv" || name == "dot" || name == "vdot") return vector_product(inputs, 0);
  if (name == "addmv" || name == "addmv_") return vector_product(inputs, 1);
  if (name == "linear_backward") return linear_backward_product(inputs);
  return std::nullopt;
}

// The engine's fused head (nn/network/op_observer.h): x, the table, targets; both gradients too in
// training.
std::optional<Flops> head_flops(std::string_view name, const OpInputs& inputs) {
  constexpr std::string_view head = "stepscope::linear_cross_entropy";
  if (!name.starts_with(head)) return std::nullopt;
  const auto logits = linear_product(inputs.tensor(0, 1), inputs.tensor(1, 2));
  if (!logits) return std::nullopt;
  return *logits * (name.substr(head.size()) == "_trained" ? 3.0 : 1.0);
}

// Schemas of PyTorch's operators and of flash-attention's. Fused attention multiplies over the
// pairs of positions that the mask keeps.

constexpr std::size_t no_input = 99;
enum class Layout : std::uint8_t { heads_first, heads_last };  // [B, H, S, D], [B, S, H, D]
// "True"; or 0 none, 1 and 2 causal (upper left, lower right)
enum class Mask : std::uint8_t { flag, kind };

struct AttentionSchema {
  std::string_view name;
  Layout layout;
  std::size_t query;  // key and value follow; 1 in a backward
  std::size_t causal;
  Mask mask = Mask::flag;
  std::size_t lengths = no_input;  // cumulative, of packed sequences: if present, they are data
  std::size_t window = no_input;   // left; right follows; -1 = unlimited
};
using enum Layout;
constexpr auto attention_schemas = std::to_array<AttentionSchema>({
    {"scaled_dot_product_attention", heads_first, 0, 5},
    {"_scaled_dot_product_flash_attention", heads_first, 0, 4},
    {"_scaled_dot_product_flash_attention_for_cpu", heads_first, 0, 4},
    {"_scaled_dot_product_efficient_attention", heads_first, 0, 6},
    {"_scaled_dot_product_cudnn_attention", heads_first, 0, 6},
    {"_scaled_dot_product_fused_attention_overrideable", heads_first, 0, 5},
    {"_flash_attention_forward", heads_last, 0, 8, Mask::flag, 3, 11},
    {"_efficient_attention_forward", heads_last, 0, 9, Mask::kind, 4},
    {"_cudnn_attention_forward", heads_first, 0, 10, Mask::flag, 4},
    {"_scaled_dot_product_flash_attention_backward", heads_first, 1, 11, Mask::flag, 6},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", heads_first, 1, 7},
    {"_scaled_dot_product_efficient_attention_backward", heads_first, 1, 11},
    {"_scaled_dot_product_cudnn_attention_backward", heads_first, 1, 14, Mask::flag, 9},
    {"_flash_attention_backward", heads_last, 1, 11, Mask::flag, 6, 15},
    {"_efficient_attention_backward", heads_last, 1, 14, Mask::kind, 6},
    {"_cudnn_attention_backward", heads_first, 1, 14, Mask::flag, 9},
    // flash_attn 2.x
    {"flash_attn::_flash_attn_forward", heads_last, 0, 5, Mask::flag, no_input, 6},
    {"flash_attn::_flash_attn_backward", heads_last, 1, 11, Mask::flag, no_input, 12},
    // flash_attn 3
    {"flash_attn_3::_flash_attn_forward", heads_last, 0, 24, Mask::flag, 7, 25},
    {"flash_attn_3::fwd", heads_last, 0, 24, Mask::flag, 7, 25},
    {"flash_attn_3::_flash_attn_backward", heads_last, 1, 13, Mask::flag, 6, 14},
    {"flash_attn_3::bwd", heads_last, 1, 16, Mask::flag, 9, 17},
});

// Pairs (query, key) of one head. A window of w keys back and v ahead keeps a band of the square.
double attended_pairs(double queries, double keys, bool causal, std::int64_t back,
                      std::int64_t ahead) {
  if (causal) ahead = 0;
  const auto corner = [](double side) { return side > 0 ? side * side / 2 : 0.0; };
  double pairs = queries * keys;
  // Pairs above the diagonal that ends in the lower right corner and further ahead than the window.
  if (ahead >= 0) {
    const double cut = std::min(queries, keys);
    pairs -= corner(cut - static_cast<double>(ahead)) + std::max(queries - keys, 0.0) * keys;
  }
  if (back >= 0)
    pairs -= corner(keys - static_cast<double>(back)) -
             corner(keys - queries - static_cast<double>(back));
  return std::max(pairs, 0.0);
}

std::optional<bool> is_causal(const AttentionSchema& schema, const OpInputs& inputs) {
  if (schema.mask == Mask::flag) return inputs.flag(schema.causal);
  const auto kind = inputs.integer(schema.causal);
  return kind ? std::optional(*kind != 0) : std::nullopt;
}

}  // namespace

std::optional<AttentionFlops> attention_flops(std::string_view name, const OpInputs& inputs) {
  const auto schema = std::ranges::find(attention_schemas, name, &AttentionSchema::name);
  if (schema == attention_schemas.end()) return std::nullopt;
  if (schema->lengths != no_input && inputs.tensor(schema->lengths, 1) != nullptr)
    return std::nullopt;
  const Dims* q = inputs.tensor(schema->query, 4);
  const Dims* k = inputs.tensor(schema->query + 1, 4);
  const Dims* v = inputs.tensor(schema->query + 2, 4);
  const auto causal = is_causal(*schema, inputs);
  if (q == nullptr || k == nullptr || v == nullptr || !causal) return std::nullopt;
  if (q->size() != 4 || k->size() != 4 || v->size() != 4) return std::nullopt;
  const std::size_t heads = schema->layout == heads_first ? 1 : 2;
  const std::size_t positions = schema->layout == heads_first ? 2 : 1;
  const auto back = inputs.integer(schema->window).value_or(-1);
  const auto ahead = inputs.integer(schema->window + 1).value_or(-1);
  const double pairs = attended_pairs(static_cast<double>((*q)[positions]),
                                      static_cast<double>((*k)[positions]), *causal, back, ahead);
  const double each = 2.0 * static_cast<double>((*q)[0]) * static_cast<double>((*q)[heads]) * pairs;
  const auto width = static_cast<double>(q->back());  // of queries and keys
  const auto value_width = static_cast<double>(v->back());
  if (schema->query == 0) return AttentionFlops{Flops{each * (width + value_width)}, Flops{}};
  // The five products: rebuilt scores, dV, dP, dQ, dK.
  return AttentionFlops{Flops{each * (3 * width + 2 * value_width)}, Flops{each * width}};
}

// Convolutions: 2 × outputs × (input channels per group) × kernel window. The number of groups is
// not needed: the weight's second dimension is already per group.

namespace {

// Positions of a forward convolution's arguments in its schema. Input is argument 0, weight 1.
struct ConvolutionSchema {
  std::string_view name;
  std::size_t stride, padding, dilation;
  std::size_t transposed = no_input;  // a flag
  bool always_transposed = false;
};
constexpr auto convolution_schemas = std::to_array<ConvolutionSchema>({
    {"conv1d", 3, 4, 5},
    {"conv2d", 3, 4, 5},
    {"conv3d", 3, 4, 5},
    {"conv_transpose1d", 3, 4, 7, no_input, true},
    {"conv_transpose2d", 3, 4, 7, no_input, true},
    {"conv_transpose3d", 3, 4, 7, no_input, true},
    {"convolution", 3, 4, 5, 6},
    {"_convolution", 3, 4, 5, 6},
    {"convolution_overrideable", 3, 4, 5, 6},
    {"cudnn_convolution", 3, 2, 4},
    {"cudnn_convolution_relu", 3, 4, 5},
    {"cudnn_convolution_add_relu", 5, 6, 7},
    {"cudnn_convolution_transpose", 4, 2, 5, no_input, true},
    {"miopen_convolution", 4, 3, 5},
    {"miopen_convolution_relu", 3, 4, 5},
    {"miopen_depthwise_convolution", 4, 3, 5},
    {"miopen_convolution_transpose", 5, 3, 6, no_input, true},
    {"mkldnn_convolution", 4, 3, 5},
    {"thnn_conv2d", 4, 5, no_input},
    {"_slow_conv2d_forward", 4, 5, no_input},
    {"_conv_depthwise2d", 4, 5, 6},
    {"conv_depthwise3d", 4, 5, 6},
    {"slow_conv3d_forward", 4, 5, no_input},
    {"slow_conv_dilated2d", 4, 5, 6},
});

// One entry per spatial dimension; a single number applies to all.
std::optional<std::int64_t> spatial(const std::optional<Dims>& list, std::size_t i) {
  if (!list || list->empty()) return std::nullopt;
  if (list->size() == 1) return list->front();
  return i < list->size() ? std::optional((*list)[i]) : std::nullopt;
}

std::optional<std::int64_t> output_extent(const ConvolutionSchema& schema, const OpInputs& inputs,
                                          std::size_t i, std::int64_t in, std::int64_t kernel) {
  const auto stride = spatial(inputs.integers(schema.stride), i);
  const auto dilation = schema.dilation == no_input ? std::optional<std::int64_t>(1)
                                                    : spatial(inputs.integers(schema.dilation), i);
  if (!stride || *stride <= 0 || !dilation || *dilation <= 0) return std::nullopt;
  const std::string_view mode = inputs.concrete(schema.padding);
  if (mode == "same" || mode == "'same'") return in;
  double padding = 0;
  if (mode != "valid" && mode != "'valid'") {
    const auto given = spatial(inputs.integers(schema.padding), i);
    if (!given) return std::nullopt;
    padding = static_cast<double>(*given);
  }
  const double reach = static_cast<double>(*dilation) * static_cast<double>(kernel - 1);
  const double steps =
      (static_cast<double>(in) + 2 * padding - reach - 1) / static_cast<double>(*stride);
  if (steps > 1e15) return std::nullopt;
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(std::max(steps, -1.0))) + 1,
                                0);
}

// The multiply-adds of one position are weight[1] × window, on the side over which the kernel
// slides.
std::optional<Flops> sliding(const Dims& positions, const Dims& weight) {
  const auto count = element_count(positions);
  const auto window = element_count(Dims(weight.begin() + 1, weight.end()));
  if (!count || !window) return std::nullopt;
  return Flops{2.0 * static_cast<double>(*count) * static_cast<double>(*window)};
}

std::optional<Flops> forward(const ConvolutionSchema& schema, const OpInputs& inputs) {
  const Dims* in = inputs.tensor(0, 3);
  const Dims* weight = inputs.tensor(1, 3);
  if (in == nullptr || weight == nullptr || in->size() != weight->size()) return std::nullopt;
  bool transposed = schema.always_transposed;
  if (schema.transposed != no_input) {
    const auto flag = inputs.flag(schema.transposed);
    if (!flag) return std::nullopt;
    transposed = *flag;
  }
  if (transposed) return sliding(*in, *weight);
  Dims out = {in->front(), weight->front()};
  for (std::size_t i = 2; i < in->size(); ++i) {
    const auto extent = output_extent(schema, inputs, i - 2, (*in)[i], (*weight)[i]);
    if (!extent) return std::nullopt;
    out.push_back(*extent);
  }
  return sliding(out, *weight);
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask). The gradients of input and of weight each cost
// one forward.
std::optional<Flops> backward(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(0, 3);
  const Dims* in = inputs.tensor(1, 3);
  const Dims* weight = inputs.tensor(2, 3);
  const auto transposed = inputs.flag(7);
  const auto mask = inputs.flags(10);
  if (grad == nullptr || in == nullptr || weight == nullptr || !transposed || !mask ||
      mask->size() != 3)
    return std::nullopt;
  const auto one = sliding(*transposed ? *in : *grad, *weight);
  if (!one) return std::nullopt;
  return *one * (((*mask)[0] ? 1.0 : 0.0) + ((*mask)[1] ? 1.0 : 0.0));
}

// cudnn_convolution_backward_input(self_size, grad_output, weight, …)
std::optional<Flops> backward_input(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(1, 3);
  const Dims* weight = inputs.tensor(2, 3);
  if (grad == nullptr || weight == nullptr) return std::nullopt;
  return sliding(*grad, *weight);
}

// cudnn_convolution_backward_weight(weight_size, grad_output, self, …)
std::optional<Flops> backward_weight(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(1, 3);
  const auto weight = inputs.integers(0);
  if (grad == nullptr || !weight || weight->size() != grad->size()) return std::nullopt;
  return sliding(*grad, *weight);
}

std::optional<Flops> convolution_flops(std::string_view name, const OpInputs& inputs) {
  if (name == "convolution_backward") return backward(inputs);
  if (name == "cudnn_convolution_backward_input") return backward_input(inputs);
  if (name == "cudnn_convolution_backward_weight") return backward_weight(inputs);
  const auto schema = std::ranges::find(convolution_schemas, name, &ConvolutionSchema::name);
  return schema == convolution_schemas.end() ? std::nullopt : forward(*schema, inputs);
}

}  // namespace

OpCost op_cost(std::string_view name, const OpInputs& inputs) {
  constexpr std::string_view aten = "aten::";
  const bool own = name.starts_with(aten);
  const std::string_view base = own ? name.substr(aten.size()) : name;
  OpCost cost;
  if (own) cost.flops = product_flops(base, inputs);
  if (own && !cost.flops) cost.flops = convolution_flops(base, inputs);
  if (!own) cost.flops = head_flops(base, inputs);
  if (const auto attention = cost.flops ? std::nullopt : attention_flops(base, inputs)) {
    cost.flops = attention->total;
    cost.recompute = attention->recompute;
  }
  cost.bytes = moved_bytes(base, inputs);
  const auto tensor = std::ranges::find_if(inputs.args, &OpInput::is_tensor);
  if (tensor != inputs.args.end()) cost.precision = precision_of(tensor->type);
  return cost;
}

}  // namespace stepscope
