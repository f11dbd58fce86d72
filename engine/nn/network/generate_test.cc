// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/generate.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "engine/nn/network/network_test_model.h"

namespace stepscope::nn {
namespace {

TEST(Sample, FollowsTheDistribution) {
  const std::array<float, 4> logits = {std::log(1.0F), std::log(2.0F), std::log(5.0F),
                                       std::log(2.0F)};
  constexpr int draws = 1000;
  const auto counts = [&](const Sampling& sampling) {
    std::array<int, 4> n{};
    for (int i = 0; i < draws; ++i) {
      const float uniform = (static_cast<float>(i) + 0.5F) / draws;
      ++n[static_cast<std::size_t>(sample(logits, sampling, uniform))];
    }
    return n;
  };
  EXPECT_EQ(counts({}), (std::array{100, 200, 500, 200}));
  EXPECT_EQ(counts({.temperature = 0}), (std::array{0, 0, 1000, 0}));
  EXPECT_EQ(counts({.top_k = 1}), (std::array{0, 0, 1000, 0}));
  EXPECT_EQ(counts({.top_k = 2}), (std::array{0, 286, 714, 0}));  // token 1 before its equal 3
  EXPECT_EQ(counts({.temperature = 0.5F}), (std::array{29, 118, 735, 118}));  // squares: 1 4 25 4
  EXPECT_EQ(sample(logits, {}, 1.0F), 3);
}

std::vector<std::int32_t> continued(TestModel<float>& model,
                                    const std::vector<std::int32_t>& prompt, std::int64_t count,
                                    const Sampling& sampling) {
  const auto result = generate(
      model.network,
      [&](std::size_t unit) { return std::as_bytes(std::span(model.parameters[unit])); }, prompt,
      count, sampling);
  EXPECT_TRUE(result);
  return result ? *result : std::vector<std::int32_t>{};
}

// A network that has memorised one sequence continues it, also beyond its context.
TEST(Generate, ContinuesWhatWasLearned) {
  const NetworkConfig config = tiny_llama();
  TestModel<float> model(config, 1, 10);
  const std::vector<std::int32_t> inputs = {3, 14, 15, 9, 26, 5, 8, 20, 7, 30};
  const std::vector<std::int32_t> targets = {14, 15, 9, 26, 5, 8, 20, 7, 30, 3};
  double loss = 0;
  for (int step = 0; step < 500; ++step) {
    loss = model.train(1, 10, inputs, targets);
    for (std::size_t u = 0; u < model.units.size(); ++u) {
      for (std::size_t i = 0; i < model.parameters[u].size(); ++i) {
        model.parameters[u][i] -= 0.01F * model.gradients[u][i];
      }
    }
  }
  EXPECT_LT(loss, 0.5);
  EXPECT_EQ(continued(model, {3, 14, 15}, 7, {.temperature = 0}),
            (std::vector<std::int32_t>{9, 26, 5, 8, 20, 7, 30}));
  EXPECT_EQ(continued(model, {3, 14, 15}, 30, {.temperature = 0}).size(), 30U);
  const Sampling drawn{.temperature = 2, .seed = 1};
  EXPECT_EQ(continued(model, {3}, 20, drawn), continued(model, {3}, 20, drawn));
  EXPECT_NE(continued(model, {3}, 20, drawn),
            continued(model, {3}, 20, {.temperature = 2, .seed = 2}));
}

TEST(Generate, RefusesPromptsThatAreNone) {
  TestModel<float> model(tiny_gpt2(), 1, 10);
  const auto refusal = [&](const std::vector<std::int32_t>& prompt) {
    return generate(
               model.network,
               [&](std::size_t unit) { return std::as_bytes(std::span(model.parameters[unit])); },
               prompt, 1, {})
        .error()
        .message();
  };
  EXPECT_EQ(refusal({}), "generate: an empty prompt; give at least one token");
  EXPECT_EQ(refusal({1, 31}),
            "generate: token 31 in the prompt; the network's tokens are below 31");
}

}  // namespace
}  // namespace stepscope::nn
