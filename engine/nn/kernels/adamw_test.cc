// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/adamw.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class AdamWKernel : public KernelTest<T> {};
TYPED_TEST_SUITE(AdamWKernel, Elements);

constexpr AdamW settings{
    .lr = 3e-3F, .beta1 = 0.9F, .beta2 = 0.95F, .eps = 1e-8F, .weight_decay = 0.1F, .step = 1};

TYPED_TEST(AdamWKernel, FollowsThePublishedRuleOverManySteps) {
  using T = TypeParam;
  for (const std::int64_t count : {1, 5, 16, 33, 100}) {
    for_each_isa([&] {
      auto master = numbers<float>(count, 1);
      std::vector<float> m(master.size()), v(master.size());
      std::vector<T> param(master.size());
      auto p = doubles(master);
      std::vector<double> md(p.size()), vd(p.size());
      for (std::int64_t step = 1; step <= 20; ++step) {
        AdamW o = settings;
        o.step = step;
        const auto grad = numbers<T>(count, static_cast<std::uint32_t>(100 + step));
        T* out = param.data();
        if constexpr (std::is_same_v<T, float>) out = master.data();
        adamw(count, o, grad.data(), 0.5F, master.data(), m.data(), v.data(), out);
        for (std::size_t i = 0; i < p.size(); ++i) {
          const double g = 0.5 * as_double(grad[i]), b1 = 0.9F, b2 = 0.95F, lr = 3e-3F;
          md[i] = b1 * md[i] + (1 - b1) * g;
          vd[i] = b2 * vd[i] + (1 - b2) * g * g;
          const double mean = md[i] / (1 - std::pow(b1, step));
          const double root = std::sqrt(vd[i] / (1 - std::pow(b2, step)));
          p[i] = p[i] * (1 - lr * static_cast<double>(0.1F)) - lr * mean / (root + 1e-8);
        }
      }
      expect_close(master, p, 20 * 0x1p-22, 0.1, "master");  // a few roundings per step
      expect_close(m, md, 20 * 0x1p-23, 0.1, "m");
      expect_close(v, vd, 20 * 0x1p-23, 0.1, "v");
      if constexpr (std::is_same_v<T, Bf16>) {
        for (std::size_t i = 0; i < param.size(); ++i) EXPECT_EQ(param[i], to_bf16(master[i]));
      }
    });
  }
}

// Results of PyTorch 2.13: torch.optim.AdamW([p], lr=3e-3, betas=(0.9, 0.95), eps=1e-8,
// weight_decay=0.1) on float64 p = [1, -2, 0.5], three steps with gradients [0.1, -0.2, 0.3], [0.4,
// 0.5, -0.6], [-0.7, 0.8, 0.9].
TEST(AdamWKernel, EqualsPyTorch) {
  std::vector<float> p = {1, -2, 0.5F}, m(3), v(3);
  const std::vector<float> grads[] = {
      {0.1F, -0.2F, 0.3F}, {0.4F, 0.5F, -0.6F}, {-0.7F, 0.8F, 0.9F}};
  AdamW o = settings;
  for (const auto& g : grads) {
    adamw(3, o, g.data(), 1.0F, p.data(), m.data(), v.data(), p.data());
    ++o.step;
  }
  expect_close(p, {0.994078819995, -1.998644897442, 0.496626507806}, 0x1p-22, 0.0, "parameters");
}

// Ranks own different parts of a vector: an element's result must not depend on its place.
TYPED_TEST(AdamWKernel, AnElementsBitsDoNotDependOnItsPlace) {
  using T = TypeParam;
  const std::int64_t count = 67;
  const auto grad = numbers<T>(count, 1);
  for_each_isa([&] {
    auto whole = numbers<float>(count, 2), m = numbers<float>(count, 3);
    auto v = std::vector<float>(67, 0.3F);
    auto parts = whole, pm = m, pv = v;
    std::vector<T> a(67), b(67);
    const bool f32 = std::is_same_v<T, float>;
    T* out = f32 ? reinterpret_cast<T*>(whole.data()) : a.data();
    adamw(count, settings, grad.data(), 0.3F, whole.data(), m.data(), v.data(), out);
    for (std::int64_t first = 0, width = 1; first < count; first += width, ++width) {
      const std::int64_t n = std::min(width, count - first);
      T* part = (f32 ? reinterpret_cast<T*>(parts.data()) : b.data()) + first;
      adamw(n, settings, grad.data() + first, 0.3F, parts.data() + first, pm.data() + first,
            pv.data() + first, part);
    }
    EXPECT_TRUE(same_bits(whole, parts));
    EXPECT_TRUE(same_bits(m, pm));
    EXPECT_TRUE(same_bits(v, pv));
    EXPECT_TRUE(same_bits(a, b));
  });
}

}  // namespace
}  // namespace stepscope::nn
