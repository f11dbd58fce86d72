// SPDX-License-Identifier: Apache-2.0
// The settings of an engine: the network, and the way to train it.
#pragma once

#include <cstdint>

#include "engine/nn/network/network_config.h"
#include "engine/nn/network/passes.h"
#include "engine/zero/engine/learning_rate.h"
#include "engine/zero/plan/step_plan.h"
#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"

namespace stepscope::zero {

// The handling of a step whose loss or gradient is infinite or not a number.
enum class NonFinite : std::uint8_t {
  skip,  // no rank updates; training continues
  stop   // an error, on every rank
};

struct OptimizerConfig {
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;  // of matrices, not of norms and biases
  LearningRate learning_rate{};
  // If the gradient's norm over all parameters (mean over all tokens of the step) is larger, the
  // gradient is scaled to this norm. 0: never.
  double clip_norm = 1.0;
};

struct EngineConfig {
  nn::NetworkConfig network{};
  nn::RecomputePlan recompute{};
  ElementType type = ElementType::f32;  // f32, or bf16 with f32 master weights
  std::int64_t batch = 1;               // sequences of a micro-batch, at most
  std::int64_t tokens = 0;              // of a sequence, at most
  int stage = 0;
  int micro_batches = 1;
  Accumulation accumulation = Accumulation::reduce_each_microstep;
  int prefetch_distance = 1;
  Bytes bucket_bytes{16 << 20};
  int buckets = 4;
  std::uint64_t seed = 0;  // of initial values and dropout
  OptimizerConfig optimizer{};
  NonFinite non_finite = NonFinite::skip;
  OffloadPlaces offload{};         // the results have the same bits
  Bytes offload_buffer{12 << 20};  // of each of the update's three buffers
};

}  // namespace stepscope::zero
