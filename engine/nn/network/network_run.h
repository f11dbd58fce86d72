// SPDX-License-Identifier: Apache-2.0
// One running pass: the network, the micro-batch and the memory, and the operations of passes. Each
// operation is reported to the observer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/nn/kernels/attention.h"
#include "engine/nn/kernels/dropout.h"
#include "engine/nn/kernels/layer_norm.h"
#include "engine/nn/kernels/matmul.h"
#include "engine/nn/kernels/rms_norm.h"
#include "engine/nn/network/block_tensors.h"
#include "engine/nn/network/network_config.h"
#include "engine/nn/network/network_memory.h"
#include "engine/nn/network/op_observer.h"

namespace stepscope::nn {

struct NetworkRun {
  const NetworkConfig& config;
  const NetworkMemory& memory;
  OpObserver* observer;
  std::byte* activations;
  std::byte* scratch;
  std::int64_t batch;
  std::int64_t tokens;
  std::uint64_t dropout_seed;
  float dropout;  // 0 in evaluation

  [[nodiscard]] std::int64_t rows() const { return batch * tokens; }
  template <class T>
  [[nodiscard]] T* in_scratch(std::int64_t offset) const {
    return reinterpret_cast<T*>(scratch + offset);
  }
  [[nodiscard]] float* work() const { return in_scratch<float>(memory.work); }
  [[nodiscard]] AttentionShape attention() const {
    return {batch, tokens, config.heads, config.kv_heads, head_size(config)};
  }
};

// The place of a layer's value: kept in the activations, or recomputed into the scratch.
template <class T>
T* value_of(const NetworkRun& run, std::int64_t layer, BlockValue value) {
  const auto l = static_cast<std::size_t>(layer);
  const auto v = static_cast<std::size_t>(value);
  const std::int64_t kept = run.memory.kept[static_cast<std::size_t>(run.memory.recompute[l])][v];
  if (kept == NetworkMemory::nowhere) return run.in_scratch<T>(run.memory.recomputed[v]);
  return reinterpret_cast<T*>(run.activations + run.memory.layer_begin[l] + kept);
}

inline OpDims dims(std::int64_t a) { return {{a}, 1}; }
inline OpDims dims(std::int64_t a, std::int64_t b) { return {{a, b}, 2}; }
inline OpDims dims(std::int64_t a, std::int64_t b, std::int64_t c) { return {{a, b, c}, 3}; }
inline OpDims dims(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return {{a, b, c, d}, 4};
}

// The statistics of a norm; `mean` is not written by an rms norm.
struct NormStatistics {
  float* mean;
  float* rstd;
};

// sum = x + residual, y = norm(sum). A null residual means sum = x. In place is allowed.
template <class T>
void norm_forward(const NetworkRun& run, const NormTensors<const T*>& w, const T* x,
                  const T* residual, T* sum, T* y, NormStatistics s) {
  const std::int64_t c = run.config.channels;
  if (run.config.family == NetworkFamily::gpt2) {
    const OpScope scope(run.observer, LeafOp::layer_norm, dims(run.rows(), c));
    layer_norm_forward(run.rows(), c, run.config.norm_eps, x, residual, w.weight, w.bias, sum, y,
                       s.mean, s.rstd);
  } else {
    const OpScope scope(run.observer, LeafOp::rms_norm, dims(run.rows(), c));
    rms_norm_forward(run.rows(), c, run.config.norm_eps, x, residual, w.weight, sum, y, s.rstd);
  }
}

// dsum += the gradient of the norm's input.
template <class T>
void norm_backward(const NetworkRun& run, const NormTensors<const T*>& w, const NormTensors<T*>& dw,
                   const T* sum, const T* dy, T* dsum, NormStatistics s, bool add) {
  const std::int64_t c = run.config.channels;
  const OpDims shape = dims(run.rows(), c);
  if (run.config.family == NetworkFamily::gpt2) {
    const OpScope scope(run.observer, LeafOp::layer_norm_backward, shape, shape);
    layer_norm_backward(run.rows(), c, sum, w.weight, s.mean, s.rstd, dy, dsum, dw.weight, dw.bias,
                        add, run.work());
  } else {
    const OpScope scope(run.observer, LeafOp::rms_norm_backward, shape, shape);
    rms_norm_backward(run.rows(), c, sum, w.weight, s.rstd, dy, dsum, dw.weight, add, run.work());
  }
}

// y[rows, n] = x[rows, k] wᵀ + bias
template <class T>
void linear(const NetworkRun& run, const LinearTensors<const T*>& w, std::int64_t n, std::int64_t k,
            const T* x, T* y) {
  const OpScope scope(run.observer, LeafOp::linear, dims(run.rows(), k), dims(n, k));
  linear_forward(run.rows(), n, k, x, w.weight, w.bias, y);
}

// Gradients of the weight, the bias and x.
template <class T>
void linear_backward(const NetworkRun& run, const LinearTensors<const T*>& w,
                     const LinearTensors<T*>& dw, std::int64_t n, std::int64_t k, const T* x,
                     const T* dy, T* dx, bool add) {
  {
    const OpScope scope(run.observer, LeafOp::linear_backward_weight, dims(n, run.rows()),
                        dims(run.rows(), k));
    linear_backward_weight(run.rows(), n, k, x, dy, dw.weight, dw.bias, add);
  }
  const OpScope scope(run.observer, LeafOp::linear_backward_input, dims(run.rows(), n), dims(n, k));
  linear_backward_input(run.rows(), n, k, dy, w.weight, dx, false);
}

// The masks of a micro-batch: one stream for the embedding, two for each layer.
enum class DropoutSite : std::uint8_t { embedding, attention, feed_forward };

// y = x with the site's mask, scaled. Without dropout y = x, and both must be the same memory.
template <class T>
void drop(const NetworkRun& run, DropoutSite site, std::int64_t layer, const T* x, T* y) {
  const std::int64_t count = run.rows() * run.config.channels;
  const std::uint64_t stream =
      site == DropoutSite::embedding
          ? 0
          : 2 * static_cast<std::uint64_t>(layer) + static_cast<std::uint64_t>(site);
  const OpScope scope(run.observer, LeafOp::dropout, dims(run.rows(), run.config.channels));
  dropout(count, run.dropout, DropoutKey{run.dropout_seed, stream}, x, y);
}

}  // namespace stepscope::nn
