// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model_flops.h"

namespace stepscope {
namespace {

std::int64_t embedding(const TransformerShape& s) { return s.vocabulary * s.hidden; }

// Weights that a token is multiplied with: all but the table that is only looked up.
std::int64_t multiplied(const TransformerShape& s) {
  const std::int64_t query_and_output = 2 * s.hidden * s.heads * s.head_size;
  const std::int64_t key_and_value = 2 * s.hidden * s.kv_heads * s.head_size;
  const std::int64_t feed_forward = s.feed_forward_matrices * s.hidden * s.feed_forward;
  return s.layers * (query_and_output + key_and_value + feed_forward) + embedding(s);
}

double per_token(const TransformerShape& s, std::int64_t sequence, FlopsConvention convention) {
  const auto attention =
      12.0 * static_cast<double>(s.layers * s.heads * s.head_size) * static_cast<double>(sequence);
  const auto all = static_cast<double>(parameters(s));
  switch (convention) {
    case FlopsConvention::causal_halved:
      return 6.0 * static_cast<double>(multiplied(s)) + attention / 2;
    case FlopsConvention::six_n:
      return 6.0 * all;
    case FlopsConvention::palm:
      return 6.0 * all + attention;
    case FlopsConvention::torchtitan:
      return 6.0 * (all - static_cast<double>(embedding(s))) + attention;
  }
  return 0;
}

}  // namespace

std::int64_t parameters(const TransformerShape& shape) {
  return multiplied(shape) + (shape.tied_embeddings ? 0 : embedding(shape));
}

ModelFlops model_flops(const TransformerShape& shape, std::int64_t tokens, std::int64_t sequence,
                       FlopsConvention convention) {
  return {std::string(flops_convention_names[static_cast<std::size_t>(convention)]),
          Flops{static_cast<double>(tokens) * per_token(shape, sequence, convention)}};
}

}  // namespace stepscope
