// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/lanes.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"
#include "stepscope/base/isa.h"

namespace stepscope::nn {
namespace {

struct ExpRange {
  const float* x;
  float* y;
  std::int64_t count;
};
struct RoundTrip {
  const float* x;
  Bf16* rounded;
  float* back;
  std::int64_t count;
};

}  // namespace
}  // namespace stepscope::nn

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/lanes_test.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {
namespace {

std::vector<float> exponentials(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const ExpRange range{x.data(), y.data(), static_cast<std::int64_t>(x.size())};
  STEPSCOPE_NN_CALL(exponentials_of, range);
  return y;
}

TEST(Lanes, ExpIsGoodToTwoUnitsInTheLastPlace) {
  std::vector<float> x;
  for (float v = -87.3F; v < 88.0F; v += 0.00037F) x.push_back(v);
  for_each_isa([&] {
    const auto y = exponentials(x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(static_cast<double>(x[i]));
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - want) / want);
    }
    EXPECT_LE(worst, 2 * 0x1p-23);
  });
}

TEST(Lanes, ExpAtTheEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.0F, -0.0F, -88.0F, -inf, 1e30F, inf, std::nanf(""), 88.0F};
  for_each_isa([&] {
    const auto y = exponentials(x);
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 1.0F);
    EXPECT_EQ(y[2], 0.0F);
    EXPECT_EQ(y[3], 0.0F);
    EXPECT_EQ(y[4], y[7]);
    EXPECT_EQ(y[5], y[7]);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_NEAR(y[7], 1.6516e38F, 1e34F);
  });
}

TEST(Lanes, Bf16RoundsAsToBf16DoesForEveryUpperHalf) {
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      x.push_back(std::bit_cast<float>((high << 16U) | low));
    }
  }
  x.pop_back();  // the length is then not a whole number of vectors
  for_each_isa([&] {
    std::vector<Bf16> y(x.size());
    std::vector<float> back(x.size());
    const RoundTrip trip{x.data(), y.data(), back.data(), static_cast<std::int64_t>(x.size())};
    STEPSCOPE_NN_CALL(round_trip, trip);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Bf16 want = to_bf16(x[i]);
      wrong += want != y[i] || std::bit_cast<std::uint32_t>(back[i]) !=
                                   std::bit_cast<std::uint32_t>(to_float(want));
    }
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(Lanes, SumAndHighestOfAVector) {
  const auto x = numbers<float>(16, 3);
  for_each_isa([&] {
    float total = 0, most = 0;
    const auto count = static_cast<std::size_t>(STEPSCOPE_NN_CALL(reduce, x.data(), &total, &most));
    double want = 0;
    for (std::size_t i = 0; i < count; ++i) want += as_double(x[i]);
    EXPECT_NEAR(as_double(total), want, 1e-5);
    EXPECT_EQ(most, *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count)));
  });
}

TEST(Isa, TheHighestIsInUseUnlessLowered) {
  EXPECT_EQ(isa(), available_isas().back());
  if (isa_limit()) {
    EXPECT_LE(isa(), *isa_limit());
  }
  EXPECT_EQ(available_isas().front(), Isa::baseline);
  use_isa(Isa::baseline);
  EXPECT_EQ(isa(), Isa::baseline);
  use_isa(available_isas().back());
  EXPECT_EQ(isa_name(Isa::avx512), "avx512");
}

}  // namespace
}  // namespace stepscope::nn
