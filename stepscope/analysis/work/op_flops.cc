// SPDX-License-Identifier: Apache-2.0
// Matrix products, and the sum of the parts. Schemas: PyTorch's native_functions.yaml.
#include "stepscope/analysis/work/op_flops.h"

#include <algorithm>
#include <array>
#include <bitset>
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

// Of one expert after the other: token-sorted rows a[M, K] with b[G, K, N], columns a[G, M, K] with
// b[K, N], a sum over tokens a[M, K] with b[K, N] (the experts' gradients); or a batch of products.
// Each token meets one expert.
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

}  // namespace

std::optional<Flops> product_flops(std::string_view name, const OpInputs& inputs) {
  if (name == "mm" || name == "_scaled_mm" || name == "_int_mm") return plain_product(inputs, 0, 2);
  if (name == "addmm" || name == "addmm_" || name == "_addmm_activation")
    return plain_product(inputs, 1, 2);
  if (name == "bmm") return plain_product(inputs, 0, 3);
  if (name == "baddbmm" || name == "baddbmm_" || name == "addbmm")
    return plain_product(inputs, 1, 3);
  if (name == "linear" || name == "mkldnn_linear" || name == "_mkldnn_linear") {
    return linear_product(inputs.tensor(0, 1), inputs.tensor(1, 1));
  }
  if (name == "matmul") return broadcast_product(inputs.tensor(0, 1), inputs.tensor(1, 1));
  if (name == "_grouped_mm" || name == "_scaled_grouped_mm") return grouped_product(inputs);
  if (name == "einsum") return einsum_product(inputs);
  if (name == "mv" || name == "dot" || name == "vdot") return vector_product(inputs, 0);
  if (name == "addmv" || name == "addmv_") return vector_product(inputs, 1);
  if (name == "linear_backward") return linear_backward_product(inputs);
  return std::nullopt;
}

namespace {

// The engine's fused head (nn/network/op_observer.h): x, the table, targets; both gradients too in
// training.
std::optional<Flops> head_flops(std::string_view name, const OpInputs& inputs) {
  constexpr std::string_view head = "stepscope::linear_cross_entropy";
  if (!name.starts_with(head)) return std::nullopt;
  const auto logits = linear_product(inputs.tensor(0, 1), inputs.tensor(1, 2));
  if (!logits) return std::nullopt;
  return *logits * (name.substr(head.size()) == "_trained" ? 3.0 : 1.0);
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
