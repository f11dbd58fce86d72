// SPDX-License-Identifier: Apache-2.0
// Schemas of PyTorch's operators and of flash-attention's. Fused attention multiplies over the
// pairs of positions that the mask keeps.
#include <algorithm>

#include "stepscope/analysis/work/op_flops.h"

namespace stepscope {
namespace {

constexpr std::size_t no_input = 99;
enum class Layout : std::uint8_t { heads_first, heads_last };  // [B, H, S, D], [B, S, H, D]
enum class Mask : std::uint8_t {
  flag,
  kind
};  // "True"; or 0 none, 1 and 2 causal (upper left, lower right)

struct AttentionSchema {
  std::string_view name;
  Layout layout;
  std::size_t query;  // key and value follow; 1 in a backward
  std::size_t causal;
  Mask mask = Mask::flag;
  std::size_t lengths =
      no_input;  // cumulative lengths of packed sequences: if present, lengths are data
  std::size_t window = no_input;  // left; right follows; -1 = unlimited
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

}  // namespace stepscope
