// SPDX-License-Identifier: Apache-2.0
// For tests: tiny networks, and weights whose values encode their place.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/nn/network/network_config.h"
#include "engine/nn/network/units.h"
#include "engine/zero/checkpoint/stored_weights.h"

namespace stepscope::zero::test {

inline nn::NetworkConfig tiny_gpt2() {
  return {.layers = 2,
          .heads = 2,
          .kv_heads = 2,
          .channels = 8,
          .hidden = 32,
          .vocab = 13,
          .padded_vocab = 16,
          .context = 6};
}
inline nn::NetworkConfig tiny_llama() {
  return {.family = nn::NetworkFamily::llama,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .channels = 16,
          .hidden = 24,
          .vocab = 13,
          .padded_vocab = 16,
          .context = 6,
          .tied = false};
}

// Distinct values that are exact in bf16 and half precision too.
inline float weight_at(std::size_t unit, std::int64_t i) {
  const auto x = static_cast<std::int64_t>(unit * 31) + i * 7;
  return static_cast<float>(x % 127 - 63) * 0.0625F;
}

// All units; padding rows are zero.
inline std::vector<std::vector<float>> weights_of(const std::vector<nn::Unit>& units) {
  std::vector<std::vector<float>> all;
  for (std::size_t u = 0; u < units.size(); ++u) {
    auto& values = all.emplace_back(static_cast<std::size_t>(units[u].count));
    for (const nn::Parameter& p : units[u].parameters) {
      const ParameterRows rows = parameter_rows(p);
      for (std::int64_t i = 0; i < rows.rows * rows.columns; ++i)
        values[static_cast<std::size_t>(p.offset + i)] = weight_at(u, p.offset + i);
    }
  }
  return all;
}
inline ReadWeights reader_of(const std::vector<std::vector<float>>& weights) {
  return [&weights](std::size_t unit, std::int64_t first, std::span<float> into) -> Result<Done> {
    std::copy_n(weights[unit].begin() + first, into.size(), into.begin());
    return Done{};
  };
}

// Reads all units in pieces of `piece` elements.
inline std::vector<std::vector<float>> read_all(const StoredWeights& stored,
                                                const std::vector<nn::Unit>& units,
                                                std::int64_t piece) {
  std::vector<std::vector<float>> all;
  for (std::size_t u = 0; u < units.size(); ++u) {
    auto& values = all.emplace_back(static_cast<std::size_t>(units[u].count), -1.F);
    for (std::int64_t at = 0; at < units[u].count; at += piece) {
      const std::int64_t n = std::min(piece, units[u].count - at);
      const auto read = stored.read(
          u, at,
          std::span(values).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n)));
      EXPECT_TRUE(read) << (read ? "" : read.error().message());
    }
  }
  return all;
}

}  // namespace stepscope::zero::test
