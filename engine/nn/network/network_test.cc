// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "engine/nn/network/network_test_model.h"
#include "engine/nn/network/network_test_reference.h"
#include "engine/nn/network/presets.h"

namespace stepscope::nn {
namespace {

using Tokens = std::vector<std::int32_t>;

struct Batch {
  std::int64_t batch;
  std::int64_t tokens;
  Tokens inputs;
  Tokens targets;
};

Batch some_batch(const NetworkConfig& c, std::int64_t batch, std::int64_t tokens,
                 std::uint32_t seed) {
  Batch b{batch, tokens, some_tokens(batch * tokens, c.vocab, seed),
          some_tokens(batch * tokens, c.vocab, seed + 1)};
  b.targets[b.targets.size() / 2] = -1;
  return b;
}

MicroBatch micro(const Batch& b, std::uint64_t dropout_seed = 0) {
  return {b.batch, b.tokens, b.inputs, b.targets, dropout_seed};
}

// The weights are larger than a fresh network's, so that every path matters.
template <class T>
void stir(TestModel<T>& model) {
  for (std::size_t u = 0; u < model.units.size(); ++u) {
    std::vector<float> values;
    for (const T x : model.parameters[u]) values.push_back(widened(x));
    for (const Parameter& p : model.units[u].parameters) {
      const std::int64_t drawn = p.count - p.pad_rows * (p.count / p.shape.front());
      for (std::int64_t i = 0; i < drawn; ++i) {
        float& x = values[static_cast<std::size_t>(p.offset + i)];
        const auto noise = static_cast<float>(std::sin(static_cast<double>(i * 7 + p.offset)));
        x = p.init_std > 0 ? 8 * x : x + 0.2F * noise;
      }
    }
    model.set(u, values);
  }
}

template <class T>
ReferenceNetwork reference_of(const TestModel<T>& model) {
  ReferenceNetwork n{model.network.config(), model.units, {}};
  for (const std::vector<T>& unit : model.parameters) {
    std::vector<double>& values = n.parameters.emplace_back();
    for (const T x : unit) values.push_back(static_cast<double>(widened(x)));
  }
  return n;
}

double difference(ReferenceNetwork& n, double& x, const MicroBatch& b) {
  constexpr double step = 1e-5;
  const double at = x;
  x = at + step;
  const double up = n.loss(b, true);
  x = at - step;
  const double down = n.loss(b, true);
  x = at;
  return (up - down) / (2 * step);
}

// Some elements of each parameter, and a direction through all of them at once.
void check_gradients(TestModel<float>& model, const MicroBatch& b) {
  ReferenceNetwork n = reference_of(model);
  for (std::size_t u = 0; u < model.units.size(); ++u) {
    for (const Parameter& p : model.units[u].parameters) {
      for (std::int64_t i = 0; i < 6; ++i) {
        const auto at = static_cast<std::size_t>(p.offset + (i * 7919 + 3) % p.count);
        const double expected = difference(n, n.parameters[u][at], b);
        EXPECT_NEAR(static_cast<double>(model.gradients[u][at]), expected,
                    2e-5 * (1 + std::abs(expected)))
            << p.name << " " << at;
      }
    }
  }
  double slope = 0;
  double squares = 0;
  for (const auto& unit : model.gradients) {
    for (const float g : unit) squares += static_cast<double>(g) * static_cast<double>(g);
  }
  const double step = 1e-5 / std::sqrt(squares);
  for (const double sign : {1.0, -1.0}) {
    ReferenceNetwork moved = n;
    for (std::size_t u = 0; u < model.units.size(); ++u) {
      for (std::size_t i = 0; i < moved.parameters[u].size(); ++i) {
        moved.parameters[u][i] += sign * step * static_cast<double>(model.gradients[u][i]);
      }
    }
    slope += sign * moved.loss(b, true) / (2 * step);
  }
  EXPECT_NEAR(slope / squares, 1, 1e-5);  // the slope along the gradient is its squared length
}

struct Case {
  std::string name;
  NetworkConfig config;
};

std::vector<Case> cases() {
  std::vector<Case> all = {{"gpt2", tiny_gpt2()},
                           {"gpt2_untied", tiny_gpt2(false)},
                           {"llama", tiny_llama()},
                           {"llama_untied", tiny_llama(false)}};
  all.push_back({"gpt2_dropout", tiny_gpt2()});
  all.back().config.dropout = 0.2F;
  all.push_back({"llama_one_kv_head_dropout", tiny_llama()});
  all.back().config.dropout = 0.1F;
  all.back().config.kv_heads = 1;
  return all;
}

class Networks : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Network, Networks, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Networks, HaveTheReferencesLossAndGradients) {
  const NetworkConfig& c = GetParam().config;
  TestModel<float> model(c, 3, 9);
  stir(model);
  const Batch b = some_batch(c, 2, 8, 5);
  const double loss = model.train(b.batch, b.tokens, b.inputs, b.targets, false, 77);
  EXPECT_EQ(model.network.loss_tokens(), 15);
  EXPECT_NEAR(loss, reference_of(model).loss(micro(b, 77), true), 2e-5 * loss);
  check_gradients(model, micro(b, 77));
  const double evaluated = model.evaluate(b.batch, b.tokens, b.inputs, b.targets);
  EXPECT_NEAR(evaluated, reference_of(model).loss(micro(b), false), 2e-5 * loss);
  if (c.dropout > 0) {
    EXPECT_NE(loss, evaluated);
    EXPECT_NE(loss, model.train(b.batch, b.tokens, b.inputs, b.targets, false, 78));
  } else {
    EXPECT_EQ(loss, evaluated);
  }
}

// Every element of every unit is written; padding rows get zero.
TEST_P(Networks, WriteEveryGradient) {
  const NetworkConfig& c = GetParam().config;
  TestModel<float> model(c, 2, 11);
  stir(model);
  const Batch b = some_batch(c, 2, 11, 9);
  model.train(b.batch, b.tokens, b.inputs, b.targets);
  for (std::size_t u = 0; u < model.units.size(); ++u) {
    for (const float g : model.gradients[u]) ASSERT_TRUE(std::isfinite(g));
    for (const Parameter& p : model.units[u].parameters) {
      const auto values =
          std::span(model.gradients[u])
              .subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.count));
      EXPECT_TRUE(std::ranges::any_of(values, [](float g) { return g != 0; })) << p.name;
      const auto pad = static_cast<std::size_t>(p.pad_rows * (p.count / p.shape.front()));
      for (const float g : values.last(pad)) ASSERT_EQ(g, 0) << p.name;
    }
  }
}

template <class T>
bool same_bits(const std::vector<std::vector<T>>& a, const std::vector<std::vector<T>>& b) {
  for (std::size_t u = 0; u < a.size(); ++u) {
    if (!std::ranges::equal(std::as_bytes(std::span(a[u])), std::as_bytes(std::span(b[u])))) {
      return false;
    }
  }
  return a.size() == b.size();
}

template <class T>
void check_recompute(NetworkConfig c) {
  c.layers = 3;
  const Batch b = some_batch(c, 3, 7, 2);
  TestModel<T> stored(c, 3, 9);
  const double loss = stored.train(b.batch, b.tokens, b.inputs, b.targets, false, 4);
  for (const RecomputePlan plan : {RecomputePlan{Recompute::selective},
                                   {Recompute::full},
                                   {Recompute::every_k, 2},
                                   {Recompute::every_k, 1}}) {
    TestModel<T> again(c, 3, 9, plan);
    EXPECT_EQ(again.train(b.batch, b.tokens, b.inputs, b.targets, false, 4), loss);
    EXPECT_TRUE(same_bits(again.gradients, stored.gradients)) << static_cast<int>(plan.kind);
    if (plan.every != 1 || plan.kind != Recompute::every_k) {
      EXPECT_LT(again.network.activation_bytes(), stored.network.activation_bytes());
    }
  }
}

TEST_P(Networks, GiveTheSameBitsWhateverIsRecomputed) {
  check_recompute<float>(GetParam().config);
  check_recompute<Bf16>(GetParam().config);
}

// Two micro-batches of one sequence: the second adds to the first.
TEST_P(Networks, AccumulateMicroBatches) {
  NetworkConfig c = GetParam().config;
  c.dropout = 0;
  const Batch b = some_batch(c, 2, 8, 5);
  TestModel<float> whole(c, 2, 8);
  const double loss = whole.train(2, 8, b.inputs, b.targets);
  TestModel<float> parts(c, 1, 8);
  double sum = 0;
  for (int half = 0; half < 2; ++half) {
    sum += parts.train(1, 8, Tokens(b.inputs.begin() + 8 * half, b.inputs.begin() + 8 * half + 8),
                       Tokens(b.targets.begin() + 8 * half, b.targets.begin() + 8 * half + 8),
                       half == 1);
  }
  EXPECT_NEAR(sum, loss, 1e-5 * loss);
  for (std::size_t u = 0; u < whole.gradients.size(); ++u) {
    for (std::size_t i = 0; i < whole.gradients[u].size(); ++i) {
      ASSERT_NEAR(parts.gradients[u][i], whole.gradients[u][i], 2e-5) << u << " " << i;
    }
  }
}

// A small micro-batch gives the same results in the memory of a large one as in memory of its own;
// the previous micro-batch leaves no trace.
TEST_P(Networks, ForgetTheMicroBatchBefore) {
  const NetworkConfig& c = GetParam().config;
  const Batch b = some_batch(c, 1, 5, 3);
  TestModel<float> own(c, 1, 5);
  const double loss = own.train(1, 5, b.inputs, b.targets, false, 1);
  TestModel<float> large(c, 4, 11);
  const Batch other = some_batch(c, 4, 11, 8);
  large.train(4, 11, other.inputs, other.targets, false, 2);
  EXPECT_EQ(large.train(1, 5, b.inputs, b.targets, false, 1), loss);
  EXPECT_TRUE(same_bits(large.gradients, own.gradients));
}

// bf16 has 8 significant bits: the loss and the direction of the whole gradient stay near those of
// f32.
TEST_P(Networks, StayNearF32InBf16) {
  const NetworkConfig& c = GetParam().config;
  TestModel<Bf16> half(c, 4, 8);
  TestModel<float> full(c, 4, 8);
  for (std::size_t u = 0; u < half.units.size(); ++u) {
    std::vector<float> values;
    for (const Bf16 x : half.parameters[u]) values.push_back(to_float(x));
    full.set(u, values);
  }
  const Batch b = some_batch(c, 4, 8, 6);
  const double loss16 = half.train(4, 8, b.inputs, b.targets, false, 1);
  const double loss32 = full.train(4, 8, b.inputs, b.targets, false, 1);
  EXPECT_NEAR(loss16 / loss32, 1, 2e-3);
  double distance = 0;
  double length = 0;
  for (std::size_t u = 0; u < half.gradients.size(); ++u) {
    for (std::size_t i = 0; i < half.gradients[u].size(); ++i) {
      const double g = static_cast<double>(full.gradients[u][i]);
      distance += std::pow(static_cast<double>(to_float(half.gradients[u][i])) - g, 2);
      length += g * g;
    }
  }
  EXPECT_LT(std::sqrt(distance / length), 0.02);
}

TEST_P(Networks, GiveLogitsOfARow) {
  const NetworkConfig& c = GetParam().config;
  TestModel<float> model(c, 2, 8);
  stir(model);
  const Batch b = some_batch(c, 2, 8, 5);
  model.evaluate(2, 8, b.inputs, b.targets);
  std::vector<Pass> passes = evaluation_passes(c);
  passes.pop_back();
  model.run(passes, micro(b), false);
  std::vector<float> logits(static_cast<std::size_t>(c.vocab));
  model.network.logits(micro(b), std::as_bytes(std::span(model.parameters[head_unit(c)])), 11,
                       logits);
  const std::vector<double> expected = reference_of(model).logits(micro(b), 11);
  for (std::size_t v = 0; v < logits.size(); ++v) {
    EXPECT_NEAR(static_cast<double>(logits[v]), expected[v], 2e-5 * (1 + std::abs(expected[v])));
  }
}

TEST_P(Networks, SayWhereANanBegins) {
  const NetworkConfig& c = GetParam().config;
  TestModel<float> model(c, 2, 8);
  const Batch b = some_batch(c, 2, 8, 5);
  model.parameters[2][static_cast<std::size_t>(c.channels) * 3] =
      std::numeric_limits<float>::quiet_NaN();
  for (const Pass& pass : model.passes) {
    model.run({pass}, micro(b), false);
    EXPECT_EQ(model.network.output_finite(), pass.kind == PassKind::embed || pass.layer == 0)
        << static_cast<int>(pass.kind);
    if (pass.kind == PassKind::head) break;
  }
}

TEST(Network, RefusesWhatItCannotRun) {
  const NetworkConfig c = tiny_gpt2();
  const auto message = [](const Result<Network>& r) {
    return r ? std::string{"accepted"} : r.error().message();
  };
  EXPECT_EQ(message(Network::create(c, ElementType::f32, 1, 12, {})),
            "network: sequences of 12 tokens; between 1 and its context of 11");
  EXPECT_EQ(message(Network::create(c, ElementType::f64, 1, 4, {})),
            "network: element type f64; f32 or bf16");
  EXPECT_EQ(message(Network::create(c, ElementType::f32, 0, 4, {})),
            "network: batch 0; at least 1");
  EXPECT_EQ(message(Network::create(c, ElementType::f32, 1, 4, {Recompute::every_k, 0})),
            "network: recompute every 0; at least 1");
  EXPECT_EQ(message(Network::create(c, ElementType::f32, std::int64_t{1} << 56, 4, {})),
            "network: batch 72057594037927936 needs more memory than can be counted; a smaller "
            "batch, and gradient accumulation");
}

// Per row and layer GPT-2 keeps 8 C, 3 C of qkv and 2 hidden = 16 C values and the statistics.
TEST(Network, CountsItsBytes) {
  const NetworkConfig c = network_preset("gpt2-124m").value();
  const std::int64_t rows = 4 * 64;
  const std::int64_t f32 = rows * 12 * (16 * 768 * 4 + (12 + 4) * 4);
  EXPECT_EQ(Network::create(c, ElementType::f32, 4, 64, {})->activation_bytes(), Bytes{f32});
  EXPECT_EQ(Network::create(c, ElementType::f32, 4, 64, {Recompute::full})->activation_bytes(),
            Bytes{rows * 12 * 768 * 4});
  EXPECT_EQ(
      Network::create(c, ElementType::bf16, 4, 64, {Recompute::selective})->activation_bytes(),
      Bytes{rows * 12 * 9 * 768 * 2});
}

}  // namespace
}  // namespace stepscope::nn
