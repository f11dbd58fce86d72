// SPDX-License-Identifier: Apache-2.0
// Models and sums shared by tests of operations.
#pragma once

#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/layer/layer_operations.h"

namespace stepscope::operations_test {

using Operations = std::vector<Operation>;

// GPT-3 (Brown et al. 2020), counted as in Korthikanti et al. 2022: dropout, materialised scores.
inline Transformer gpt(std::int64_t hidden = 12288, std::int64_t heads = 96) {
  return {.name = "gpt",
          .layers = 4,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_size = hidden / heads,
          .feed_forward = 4 * hidden,
          .max_positions = 2048,
          .vocabulary = 51200,
          .tied_embeddings = true,
          .dropout = 0.1};
}

// Llama-3-8B.
inline Transformer llama() {
  return {.name = "llama",
          .layers = 4,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_size = 128,
          .feed_forward = 14336,
          .gated = true,
          .activation = Activation::silu,
          .norm = Norm::rms_norm,
          .positions = Positions::rotary,
          .qkv_bias = false,
          .attention_output_bias = false,
          .feed_forward_bias = false,
          .vocabulary = 128256};
}

inline Plan plan_of(std::int64_t tp, bool sequence_parallel = false) {
  return {.devices = tp, .tp = tp, .tensor = {.sequence_parallel = sequence_parallel}};
}

inline const Operation& named(const Operations& ops, std::string_view name) {
  for (const Operation& op : ops) {
    if (op.name == name) return op;
  }
  check(false, name);
  return ops.front();
}

inline bool has(const Operations& ops, std::string_view name) {
  for (const Operation& op : ops) {
    if (op.name == name) return true;
  }
  return false;
}

template <class Field>
double sum(const Operations& ops, Field field) {
  double all = 0;
  for (const Operation& op : ops) all += field(op);
  return all;
}
inline double kept(const Operations& ops) {
  return sum(ops, [](const Operation& op) { return op.kept_bytes; });
}
inline double parameters(const Operations& ops) {
  return sum(ops, [](const Operation& op) { return op.parameters; });
}
inline double forward_matrix(const Operations& ops) {
  return sum(ops, [](const Operation& op) { return op.forward.matrix.value; });
}
inline double backward_matrix(const Operations& ops) {
  return sum(ops, [](const Operation& op) { return op.backward.matrix.value; });
}

inline double sent(const Pass& pass, CollectiveKind kind, ParallelDim dim) {
  double all = 0;
  for (const Communication& c : pass.communications) {
    if (c.kind == kind && c.dim == dim) all += c.bytes * static_cast<double>(c.count);
  }
  return all;
}
inline double sent_forward(const Operations& ops, CollectiveKind kind,
                           ParallelDim dim = ParallelDim::tensor) {
  return sum(ops, [=](const Operation& op) { return sent(op.forward, kind, dim); });
}
inline double sent_backward(const Operations& ops, CollectiveKind kind,
                            ParallelDim dim = ParallelDim::tensor) {
  return sum(ops, [=](const Operation& op) { return sent(op.backward, kind, dim); });
}
inline std::size_t calls(const Operations& ops) {
  std::size_t all = 0;
  for (const Operation& op : ops) {
    all += op.forward.communications.size() + op.backward.communications.size();
  }
  return all;
}

}  // namespace stepscope::operations_test
