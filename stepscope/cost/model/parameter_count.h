// SPDX-License-Identifier: Apache-2.0
// How many parameters a transformer has, to the last one: weights, biases, norms, tables. Held
// against published checkpoints in the tests.
#pragma once

#include <cstdint>

#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// One layer by its parts. h hidden, a heads, g key-value heads of size d, f feed-forward.
struct LayerParameters {
  std::int64_t attention = 0;     // h(a + 2g)d + adh, or the latent factors; biases; head norms
  std::int64_t feed_forward = 0;  // dense, or all shared experts: 2hf, or 3hf with a gate; biases
  std::int64_t router = 0;        // hidden * experts, a bias, the gate of the shared experts
  std::int64_t expert = 0;        // one routed expert
  std::int64_t experts = 0;       // how many of them
  std::int64_t top_k = 0;         // how many a token uses
  std::int64_t norms = 0;

  [[nodiscard]] std::int64_t total() const;
  [[nodiscard]] std::int64_t active() const;  // of a token
};
[[nodiscard]] LayerParameters layer_parameters(const Transformer& model, std::int64_t layer);

struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;     // total without the routed experts that a token does not use
  std::int64_t embedding = 0;  // everything before the first layer; a tied table is here
  std::int64_t tokens = 0;     // of that, the table of tokens
  std::int64_t layers = 0;
  std::int64_t head = 0;  // everything after the last layer
};
// Of a model that passed check_model.
[[nodiscard]] ParameterCount parameter_count(const Transformer& model);

// At least as many, in floating point, which no sizes overflow: as if every layer were dense and a
// mixture at once.
[[nodiscard]] double parameter_bound(const Transformer& model);

}  // namespace stepscope
