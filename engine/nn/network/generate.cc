// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/nn/kernels/philox.h"

namespace stepscope::nn {

std::int32_t sample(std::span<const float> logits, const Sampling& sampling, float uniform) {
  const auto likeliest = std::ranges::max_element(logits);
  if (sampling.temperature <= 0) return static_cast<std::int32_t>(likeliest - logits.begin());
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  if (sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < order.size()) {
    // The smaller token wins a tie.
    const auto likelier = [&](std::int32_t a, std::int32_t b) {
      return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
    };
    std::ranges::nth_element(order, order.begin() + sampling.top_k - 1, likelier);
    order.resize(static_cast<std::size_t>(sampling.top_k));
    std::ranges::sort(order);
  }
  std::vector<double> below;  // cumulative weights
  double sum = 0;
  for (const std::int32_t token : order) {
    const double z = static_cast<double>(logit(token)) - static_cast<double>(*likeliest);
    sum += std::exp(z / static_cast<double>(sampling.temperature));
    below.push_back(sum);
  }
  const auto found = std::ranges::lower_bound(below, static_cast<double>(uniform) * sum);
  const auto index = std::min(found - below.begin(), std::ssize(below) - 1);
  return order[static_cast<std::size_t>(index)];
}

Result<std::vector<std::int32_t>> generate(Network& network, const UnitValues& values,
                                           std::span<const std::int32_t> prompt, std::int64_t count,
                                           const Sampling& sampling) {
  const std::int64_t vocab = network.config().vocab;
  if (prompt.empty()) {
    return Error{.what = "generate: an empty prompt", .hint = "give at least one token"};
  }
  for (const std::int32_t token : prompt) {
    if (token < 0 || token >= vocab) {
      return Error{.what = "generate: token " + std::to_string(token) + " in the prompt",
                   .hint = "the network's tokens are below " + std::to_string(vocab)};
    }
  }
  std::vector<Pass> passes = evaluation_passes(network.config());
  passes.pop_back();  // use the head's logits instead of its loss
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  std::vector<float> logits(static_cast<std::size_t>(vocab));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t seen = std::min(std::ssize(tokens), network.max_tokens());
    const MicroBatch micro{.batch = 1,
                           .tokens = seen,
                           .inputs = std::span(tokens).last(static_cast<std::size_t>(seen))};
    for (const Pass& pass : passes) network.run(pass, micro, values(pass.unit), {}, false);
    network.logits(micro, values(head_unit(network.config())), seen - 1, logits);
    const auto bits = philox4x32(sampling.seed, 0, static_cast<std::uint64_t>(i));
    tokens.push_back(sample(logits, sampling, unit_interval(bits[0])));
  }
  tokens.erase(tokens.begin(), tokens.begin() + std::ssize(prompt));
  return tokens;
}

}  // namespace stepscope::nn
