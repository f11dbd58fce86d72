// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/rotary.h"

#include <cstddef>
#include <vector>

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/rotary.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {
namespace {

struct Angles {
  std::int64_t positions = 0, half = 0;
  float theta = 0;
  std::vector<float> cosine, sine, negated_sine;  // [positions, half]
};

// Angles are in double: in f32, position * frequency loses up to 2^-24 * position radians.
const Angles& angles(std::int64_t positions, std::int64_t half, float theta) {
  thread_local Angles kept;
  if (kept.positions >= positions && kept.half == half && kept.theta == theta) return kept;
  const auto count = static_cast<std::size_t>(positions * half);
  for (auto* column : {&kept.cosine, &kept.sine, &kept.negated_sine}) column->resize(count);
  for (std::int64_t i = 0; i < half; ++i) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(half);
    const double frequency = std::pow(static_cast<double>(theta), exponent);
    for (std::int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      const auto at = static_cast<std::size_t>(p * half + i);
      kept.cosine[at] = static_cast<float>(std::cos(angle));
      kept.sine[at] = static_cast<float>(std::sin(angle));
      kept.negated_sine[at] = -kept.sine[at];
    }
  }
  kept.positions = positions;
  kept.half = half;
  kept.theta = theta;
  return kept;
}

}  // namespace

template <class T>
void rotary(std::int64_t b, std::int64_t t, std::int64_t heads_to_rotate, std::int64_t d,
            std::int64_t row_stride, float theta, T* qk, bool backward) {
  check(d % 2 == 0, "rotary: the head dimension is odd");
  if (b == 0 || t == 0) return;
  const Angles& kept = angles(t, d / 2, theta);
  const float* sine = backward ? kept.negated_sine.data() : kept.sine.data();
  STEPSCOPE_NN_CALL(rotate, b, t, heads_to_rotate, d, row_stride, kept.cosine.data(), sine, qk);
}

template void rotary(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, float,
                     float*, bool);
template void rotary(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, float,
                     Bf16*, bool);

}  // namespace stepscope::nn
