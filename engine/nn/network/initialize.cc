// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/initialize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/nn/kernels/philox.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {
namespace {

// Four standard normal values, for elements 4 group to 4 group + 3 of a unit.
std::array<float, 4> normal4(std::uint64_t seed, std::uint64_t unit, std::uint64_t group) {
  const std::array<std::uint32_t, 4> bits = philox4x32(seed, unit, group);
  std::array<float, 4> z{};
  for (std::size_t i = 0; i < 4; i += 2) {
    const float radius = std::sqrt(-2 * std::log(unit_interval(bits[i])));
    const float angle = 2 * std::numbers::pi_v<float> * unit_interval(bits[i + 1]);
    z[i] = radius * std::cos(angle);
    z[i + 1] = radius * std::sin(angle);
  }
  return z;
}

void write_normal(std::size_t unit, std::uint64_t seed, float std, std::int64_t first,
                  std::span<float> values) {
  std::array<float, 4> z{};
  auto group = ~std::uint64_t{0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t element = static_cast<std::uint64_t>(first) + i;
    if (element / 4 != group) {
      group = element / 4;
      z = normal4(seed, unit, group);
    }
    values[i] = std * z[element % 4];
  }
}

}  // namespace

void initialize(const Unit& unit, std::size_t unit_index, std::uint64_t seed, std::int64_t first,
                std::span<float> values) {
  const std::int64_t last = first + static_cast<std::int64_t>(values.size());
  check(first >= 0 && last <= unit.count, "initialize within the unit");
  const auto part = [&](std::int64_t begin, std::int64_t end) {  // of the requested values
    const std::int64_t from = std::clamp(begin, first, last);
    const std::int64_t to = std::clamp(end, first, last);
    return values.subspan(static_cast<std::size_t>(from - first),
                          static_cast<std::size_t>(to - from));
  };
  for (const Parameter& p : unit.parameters) {
    const std::int64_t row = p.shape.empty() ? 0 : p.count / p.shape.front();
    const std::int64_t drawn = p.offset + p.count - p.pad_rows * row;
    const std::span<float> body = part(p.offset, drawn);
    if (p.init_std > 0) {
      write_normal(unit_index, seed, p.init_std, std::max(first, p.offset), body);
    } else {
      std::ranges::fill(body, p.init_std < 0 ? 1.0F : 0.0F);
    }
    std::ranges::fill(part(drawn, p.offset + p.count), 0.0F);
  }
}

}  // namespace stepscope::nn
