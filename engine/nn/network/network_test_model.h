// SPDX-License-Identifier: Apache-2.0
// For tests: a network with parameters, gradients and memory of its own that runs whole steps.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/nn/network/initialize.h"
#include "engine/nn/network/network.h"

namespace stepscope::nn {

// Bytes at a multiple of 64, filled with a pattern that is a NaN in f32 and bf16. This reveals
// reads before the first write.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::int64_t size)
      : storage_(static_cast<std::size_t>(size) + 64, std::byte{0xff}), size_(size) {}
  std::span<std::byte> span() {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    return std::span(storage_).subspan((64 - at % 64) % 64, static_cast<std::size_t>(size_));
  }

 private:
  std::vector<std::byte> storage_;
  std::int64_t size_;
};

template <class T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return to_bf16(value);
  }
}
inline float widened(float value) { return value; }
inline float widened(Bf16 value) { return to_float(value); }

template <class T>
class TestModel {
 public:
  using Tokens = std::vector<std::int32_t>;

  TestModel(const NetworkConfig& config, std::int64_t max_batch, std::int64_t max_tokens,
            const RecomputePlan& plan = {}, std::uint64_t seed = 1)
      : network(create(config, max_batch, max_tokens, plan)),
        activations(network.activation_bytes().value),
        scratch(network.scratch_bytes().value),
        units(network_units(config)),
        passes(training_passes(config, plan)) {
    network.use_memory(activations.span(), scratch.span());
    for (std::size_t u = 0; u < units.size(); ++u) {
      std::vector<float> values(static_cast<std::size_t>(units[u].count));
      initialize(units[u], u, seed, 0, values);
      set(u, values);
      gradients.emplace_back(values.size(), rounded<T>(std::numeric_limits<float>::quiet_NaN()));
    }
  }

  void set(std::size_t unit, const std::vector<float>& values) {
    parameters.resize(units.size());
    parameters[unit].resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) parameters[unit][i] = rounded<T>(values[i]);
  }

  // Forward and backward. Gradients are overwritten or added to.
  double train(std::int64_t batch, std::int64_t tokens, const Tokens& inputs, const Tokens& targets,
               bool accumulate = false, std::uint64_t dropout_seed = 0) {
    return run(passes, {batch, tokens, inputs, targets, dropout_seed}, accumulate);
  }
  double evaluate(std::int64_t batch, std::int64_t tokens, const Tokens& inputs,
                  const Tokens& targets) {
    return run(evaluation_passes(network.config()), {batch, tokens, inputs, targets}, false);
  }
  double run(const std::vector<Pass>& list, const MicroBatch& micro, bool accumulate) {
    for (const Pass& pass : list) {
      const std::span<T> gradient =
          pass.writes_gradient ? std::span(gradients[pass.unit]) : std::span<T>{};
      network.run(pass, micro, std::as_bytes(std::span(parameters[pass.unit])),
                  std::as_writable_bytes(gradient), accumulate);
    }
    return network.loss_sum();
  }

  Network network;
  AlignedBytes activations;
  AlignedBytes scratch;
  std::vector<Unit> units;
  std::vector<Pass> passes;
  std::vector<std::vector<T>> parameters;
  std::vector<std::vector<T>> gradients;

 private:
  static Network create(const NetworkConfig& config, std::int64_t batch, std::int64_t tokens,
                        const RecomputePlan& plan) {
    constexpr ElementType type = std::is_same_v<T, float> ? ElementType::f32 : ElementType::bf16;
    auto made = Network::create(config, type, batch, tokens, plan);
    check(made.has_value(), "a test's network is valid");
    return *made;
  }
};

// A tiny network of odd sizes: two layers of 16 channels and a vocabulary of 31.
inline NetworkConfig tiny_gpt2(bool tied = true) {
  return {.family = NetworkFamily::gpt2,
          .layers = 2,
          .heads = 2,
          .kv_heads = 2,
          .channels = 16,
          .hidden = 40,
          .vocab = 31,
          .padded_vocab = 32,
          .context = 11,
          .tied = tied};
}
inline NetworkConfig tiny_llama(bool tied = true) {
  return {.family = NetworkFamily::llama,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .channels = 24,
          .hidden = 20,
          .vocab = 31,
          .padded_vocab = 48,
          .context = 11,
          .tied = tied};
}

// Pseudorandom tokens, the same on every machine.
inline std::vector<std::int32_t> some_tokens(std::int64_t count, std::int64_t vocab,
                                             std::uint32_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    tokens.push_back(static_cast<std::int32_t>((seed >> 8U) % static_cast<std::uint32_t>(vocab)));
  }
  return tokens;
}

}  // namespace stepscope::nn
