// SPDX-License-Identifier: Apache-2.0
// The exact number of parameters of a transformer: weights, biases, norms, tables. Tests compare it
// with published checkpoints.
#pragma once

#include <cstdint>

#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// The parts of one layer. h hidden, a heads, g key-value heads of size d, f feed-forward.
struct LayerParameters {
  // h(a + 2g)d + adh, or the latent factors; biases; head norms; gate, indexer and compressor; or
  // the parts of linear attention or Mamba-2.
  std::int64_t attention = 0;
  std::int64_t feed_forward = 0;  // dense, or all shared experts: 2hf, or 3hf with a gate; biases
  // hidden * experts, a bias, the gate of the shared experts, the projections to and from a latent
  std::int64_t router = 0;
  std::int64_t expert = 0;   // one routed expert
  std::int64_t experts = 0;  // number of routed experts
  std::int64_t top_k = 0;    // number that a token uses
  std::int64_t norms = 0;    // and hyper-connections

  [[nodiscard]] std::int64_t total() const;
  [[nodiscard]] std::int64_t active() const;  // of a token
};
[[nodiscard]] LayerParameters layer_parameters(const Transformer& model, std::int64_t layer);
// The parameters of one module of multi-token prediction: its layers together (`expert` of all of
// them), its projection in `feed_forward`. REQUIRES: model.prediction.
[[nodiscard]] LayerParameters prediction_parameters(const Transformer& model);

struct ParameterCount {
  std::int64_t total = 0;
  // total without the routed experts that a token does not use, and without the tower
  std::int64_t active = 0;
  std::int64_t embedding = 0;  // everything before the first layer; includes a tied table
  std::int64_t tokens = 0;     // of that, the table of tokens
  std::int64_t layers = 0;
  std::int64_t head = 0;        // everything after the last layer
  std::int64_t prediction = 0;  // of that, modules of multi-token prediction
  std::int64_t tower = 0;       // the encoder of images
};
// REQUIRES: the model passed check_model.
[[nodiscard]] ParameterCount parameter_count(const Transformer& model);

// An upper bound in floating point, which no sizes overflow: each module of multi-token prediction
// counts as one of its own.
[[nodiscard]] double parameter_bound(const Transformer& model);

}  // namespace stepscope
