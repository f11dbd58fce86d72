// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/initialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/nn/kernels/philox.h"
#include "engine/nn/network/presets.h"

namespace stepscope::nn {
namespace {

// The known answers that come with Random123.
TEST(Philox, GivesItsPublishedAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32(Words{}, {}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t full = 0xffffffff;
  EXPECT_EQ(philox4x32(Words{full, full, full, full}, {full, full}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32(Words{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<float> whole(const Unit& unit, std::size_t index, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(unit.count), 7.0F);
  initialize(unit, index, seed, 0, values);
  return values;
}

TEST(Initialize, GivesAnyShardAlone) {
  NetworkConfig c = network_preset("gpt2-tiny").value();
  c.vocab = 250;
  const std::vector<Unit> units = network_units(c);
  for (std::size_t u = 0; u < 2; ++u) {
    const std::vector<float> all = whole(units[u], u, 3);
    for (const std::int64_t shards : {2, 3, 7, 1001}) {
      std::vector<float> joined;
      for (std::int64_t k = 0; k < shards; ++k) {
        const std::int64_t first = units[u].count * k / shards;
        std::vector<float> part(
            static_cast<std::size_t>(units[u].count * (k + 1) / shards - first));
        initialize(units[u], u, 3, first, part);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, all) << shards;
    }
  }
}

TEST(Initialize, DrawsWhatEachParameterAsks) {
  NetworkConfig c = network_preset("gpt2-tiny").value();
  c.vocab = 250;
  const std::vector<Unit> units = network_units(c);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const std::vector<float> values = whole(units[u], u, 5);
    for (const Parameter& p : units[u].parameters) {
      double sum = 0;
      double squares = 0;
      const std::int64_t drawn = p.count - p.pad_rows * (p.count / p.shape.front());
      for (std::int64_t i = 0; i < p.count; ++i) {
        const double x = values[static_cast<std::size_t>(p.offset + i)];
        if (i >= drawn) {
          ASSERT_EQ(x, 0) << p.name;
        }
        sum += x;
        squares += x * x;
      }
      const auto n = static_cast<double>(drawn);
      const double mean = sum / n;
      const double deviation = std::sqrt(squares / n - mean * mean);
      const double expected_mean = p.init_std < 0 ? 1 : 0;
      const double expected_deviation = std::max(0.0F, p.init_std);
      EXPECT_NEAR(mean, expected_mean, 5 * expected_deviation / std::sqrt(n)) << p.name;
      EXPECT_NEAR(deviation, expected_deviation, 5 * expected_deviation / std::sqrt(2 * n) + 1e-6)
          << p.name;
    }
  }
  const auto residual =
      std::ranges::find(units[1].parameters, "transformer.h.0.mlp.c_proj.weight", &Parameter::name);
  EXPECT_FLOAT_EQ(residual->init_std, 0.02F / std::sqrt(8.0F));
}

TEST(Initialize, DependsOnSeedAndUnit) {
  const std::vector<Unit> units = network_units(network_preset("gpt2-tiny").value());
  EXPECT_NE(whole(units[1], 1, 1), whole(units[1], 1, 2));
  EXPECT_NE(whole(units[1], 1, 1), whole(units[2], 2, 1));
  EXPECT_EQ(whole(units[1], 1, 1), whole(units[1], 1, 1));
}

}  // namespace
}  // namespace stepscope::nn
