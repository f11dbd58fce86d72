// SPDX-License-Identifier: Apache-2.0
// The same transformers written down plainly in double precision, forward only, to hold the network
// against: its gradients are central differences of this loss.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/nn/network/network.h"

namespace stepscope::nn {

struct ReferenceNetwork {
  NetworkConfig config;
  std::vector<Unit> units;
  std::vector<std::vector<double>> parameters;  // of each unit

  // Sum of the losses of counted targets. With dropout where `training`.
  [[nodiscard]] double loss(const MicroBatch& micro, bool training) const;
  [[nodiscard]] std::vector<double> logits(const MicroBatch& micro, std::size_t row) const;
};

}  // namespace stepscope::nn
