// SPDX-License-Identifier: Apache-2.0
// A plain implementation of the same transformers in double precision, forward only. Tests compare
// the network with it. The reference gradients are central differences of its loss.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/nn/network/network.h"

namespace stepscope::nn {

struct ReferenceNetwork {
  NetworkConfig config;
  std::vector<Unit> units;
  std::vector<std::vector<double>> parameters;  // of each unit

  // The sum of the losses of counted targets, with dropout if `training`.
  [[nodiscard]] double loss(const MicroBatch& micro, bool training) const;
  [[nodiscard]] std::vector<double> logits(const MicroBatch& micro, std::size_t row) const;
};

}  // namespace stepscope::nn
