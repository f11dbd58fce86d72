// SPDX-License-Identifier: Apache-2.0
// Text generation: the network's own continuation of a prompt, token by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/nn/network/network.h"

namespace stepscope::nn {

struct Sampling {
  float temperature = 1;  // of the softmax; 0: always the likeliest token
  int top_k = 0;          // only among so many likeliest tokens; 0: among all
  std::uint64_t seed = 0;
};

// The values of a unit's parameters; they stay until the next call.
using UnitValues = std::function<std::span<const std::byte>(std::size_t unit)>;

// `count` tokens that follow the prompt. Each looks back at as many tokens as fit the network's
// largest micro-batch, and costs one evaluation of these: nothing is kept between tokens. Calls
// `values` for each pass in turn, the same number of times whatever is drawn. Errors: an empty
// prompt or a token beyond the vocabulary.
[[nodiscard]] Result<std::vector<std::int32_t>> generate(Network& network, const UnitValues& values,
                                                         std::span<const std::int32_t> prompt,
                                                         std::int64_t count,
                                                         const Sampling& sampling);

// The token that a uniform number in (0, 1] picks from the distribution.
[[nodiscard]] std::int32_t sample(std::span<const float> logits, const Sampling& sampling,
                                  float uniform);

}  // namespace stepscope::nn
