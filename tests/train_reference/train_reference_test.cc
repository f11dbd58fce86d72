// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/nn/kernels/adamw.h"
#include "engine/nn/network/network_test_model.h"

namespace stepscope::nn {
namespace {

constexpr int steps = 20;
constexpr std::int64_t batch = 4;
constexpr std::int64_t tokens = 24;

// Equal to the generator in train_reference.py.
class Integers {
 public:
  explicit Integers(std::uint32_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 8U;
  }
  float weight() { return (static_cast<float>(next()) - 0x800000) / 0x1p26F; }
  std::int32_t token(std::int64_t vocab) { return static_cast<std::int32_t>(next() % vocab); }

 private:
  std::uint32_t state_;
};

NetworkConfig gpt2() {
  return {.family = NetworkFamily::gpt2,
          .layers = 3,
          .heads = 4,
          .kv_heads = 4,
          .channels = 48,
          .hidden = 160,
          .vocab = 97,
          .padded_vocab = 112,
          .context = tokens + 3};
}

NetworkConfig llama() {
  return {.family = NetworkFamily::llama,
          .layers = 3,
          .heads = 6,
          .kv_heads = 2,
          .channels = 48,
          .hidden = 104,
          .vocab = 97,
          .padded_vocab = 112,
          .context = tokens + 3,
          .tied = false};
}

template <class T>
void set_weights(TestModel<T>& model) {
  Integers integers(1);
  for (std::size_t u = 0; u < model.units.size(); ++u) {
    std::vector<float> values(model.parameters[u].size());
    for (const Parameter& p : model.units[u].parameters) {
      const std::int64_t drawn = p.count - p.pad_rows * (p.count / p.shape.front());
      for (std::int64_t i = 0; i < drawn; ++i) {
        values[static_cast<std::size_t>(p.offset + i)] =
            integers.weight() + (p.init_std < 0 ? 1.0F : 0.0F);
      }
    }
    model.set(u, values);
  }
}

// Mean losses of the steps, with f32 master weights.
template <class T>
std::vector<double> train(const NetworkConfig& config, const RecomputePlan& plan = {}) {
  TestModel<T> model(config, batch, tokens, plan);
  set_weights(model);
  std::vector<std::vector<float>> master;
  for (const auto& unit : model.parameters) {
    std::vector<float>& values = master.emplace_back();
    for (const T x : unit) values.push_back(widened(x));
  }
  std::vector<std::vector<float>> m;
  for (const auto& unit : master) m.emplace_back(unit.size(), 0.0F);
  std::vector<std::vector<float>> v = m;
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    Integers integers(2 + static_cast<std::uint32_t>(step) % 4);
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t t = 0; t <= tokens; ++t) {
        const std::int32_t token = integers.token(config.vocab);
        if (t < tokens) inputs.push_back(token);
        if (t > 0) targets.push_back(token);
      }
    }
    const double count = static_cast<double>(targets.size());
    losses.push_back(model.train(batch, tokens, inputs, targets) / count);
    for (std::size_t u = 0; u < model.units.size(); ++u) {
      for (const Parameter& p : model.units[u].parameters) {
        const AdamW optimizer{.lr = 0x1p-8F,
                              .beta1 = 0.9F,
                              .beta2 = 0.95F,
                              .eps = 1e-8F,
                              .weight_decay = p.decay ? 0.1F : 0.0F,
                              .step = step + 1};
        const auto at = static_cast<std::size_t>(p.offset);
        T* parameter = model.parameters[u].data() + at;
        float* own = master[u].data() + at;
        if constexpr (std::is_same_v<T, float>) own = parameter;  // the same tensor in f32
        adamw<T>(p.count, optimizer, model.gradients[u].data() + at, static_cast<float>(1 / count),
                 own, m[u].data() + at, v[u].data() + at, parameter);
      }
    }
  }
  return losses;
}

struct Reference {
  std::vector<double> f32;
  std::vector<double> f64;
};

Reference read_reference(const std::string& wanted) {
  std::ifstream file(STEPSCOPE_SOURCE_DIR "/tests/train_reference/losses.txt");
  Reference found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string model;
    int step = 0;
    double single = 0;
    double full = 0;
    if (words >> model >> step >> single >> full && model == wanted) {
      found.f32.push_back(single);
      found.f64.push_back(full);
    }
  }
  EXPECT_EQ(found.f64.size(), static_cast<std::size_t>(steps));
  return found;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

void compare(const std::string& name, const NetworkConfig& config) {
  const Reference torch = read_reference(name);
  const std::vector<double> f32 = train<float>(config);
  const std::vector<double> bf16 = train<Bf16>(config);
  const double ours = largest_difference(f32, torch.f64);
  const double theirs = largest_difference(torch.f32, torch.f64);
  const double half = largest_difference(bf16, torch.f64);
  testing::Test::RecordProperty(name + "_f32", std::to_string(ours));
  std::printf(
      "%s: loss %.4f to %.4f; largest difference from PyTorch f64 in %d steps: "
      "f32 %.2e (PyTorch's own f32 %.2e), bf16 %.2e\n",
      name.c_str(), torch.f64.front(), torch.f64.back(), steps, ours, theirs, half);
  EXPECT_LT(ours, 1e-5);
  EXPECT_LT(half, 5e-2);
  EXPECT_EQ(train<float>(config, {Recompute::full}), f32);
}

TEST(TrainReference, Gpt2FollowsPyTorch) { compare("gpt2", gpt2()); }
TEST(TrainReference, LlamaFollowsPyTorch) { compare("llama", llama()); }

}  // namespace
}  // namespace stepscope::nn
