// SPDX-License-Identifier: Apache-2.0
// Text generation: the network's own continuation of a prompt, token by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/nn/network/network.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {

struct Sampling {
  float temperature = 1;  // of the softmax; 0: always take the likeliest token
  int top_k = 0;          // draw from this many likeliest tokens; 0: from all
  std::uint64_t seed = 0;
};

// Returns the values of a unit's parameters, valid until the next call.
using UnitValues = std::function<std::span<const std::byte>(std::size_t unit)>;

// Draws `count` tokens that follow the prompt. Each looks back at as many tokens as fit the
// network's largest micro-batch. It costs one evaluation of these tokens, because nothing is kept
// between tokens. `values` is called for each pass in turn; the number of calls does not depend on
// the drawn tokens. Errors: an empty prompt, or a token beyond the vocabulary.
[[nodiscard]] Result<std::vector<std::int32_t>> generate(Network& network, const UnitValues& values,
                                                         std::span<const std::int32_t> prompt,
                                                         std::int64_t count,
                                                         const Sampling& sampling);

// Returns the token that a uniform number in (0, 1] selects from the distribution.
[[nodiscard]] std::int32_t sample(std::span<const float> logits, const Sampling& sampling,
                                  float uniform);

}  // namespace stepscope::nn
