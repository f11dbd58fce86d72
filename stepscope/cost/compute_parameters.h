// SPDX-License-Identifier: Apache-2.0
// The few numbers that say how near a device comes to its peaks, in one table: their names in the
// "compute" object of a machine file, what holds where nothing was measured, and what they may be.
// cost/compute_time.h has the formulas they stand in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/cost/dtype.h"

namespace stepscope {

enum class ComputeParameter : std::uint8_t {
  launch_us,            // of a kernel that is no matmul: from one end to the next start
  matmul_launch_us,     // of a matmul
  memory_efficiency,    // share of the memory's rate that large transfers reach
  matmul_memory_share,  // share of a matmul's traffic that its arithmetic does not hide
  edge,                 // rows and columns at which half of a matmul's rate is lost
  depth,                // the same for the summed dimension, at 2.9 Tflop/s a unit
  depth_power,          // how that grows with the rate of a unit
  wave,                 // share of the idle units of the last wave of tiles that is lost
  misaligned,           // slowdown where a dimension is no multiple of 8
  attention_backward,   // rate of fused attention backward against forward
  roofline_power,  // p in (a^p + b^p)^(1/p) of arithmetic and traffic: 1 adds, 1000 is the maximum
  cast,            // traffic of a cast to a format below 16 bits, against its input's
};
inline constexpr std::size_t compute_parameter_count = 12;

struct ComputeParameterInfo {
  std::string_view name;
  double usual;  // where nothing was measured
  double low, high;
};

inline constexpr std::array<ComputeParameterInfo, compute_parameter_count> compute_parameters = {{
    {"launch_us", 3.0, 0.0, 1e4},
    {"matmul_launch_us", 3.0, 0.0, 1e4},
    {"memory_efficiency", 0.85, 0.01, 1.0},
    {"matmul_memory_share", 0.5, 0.0, 1.0},
    {"edge", 40.0, 0.0, 1e6},
    {"depth", 30.0, 0.0, 1e6},
    {"depth_power", 1.0, 0.0, 4.0},
    {"wave", 0.3, 0.0, 1.0},
    {"misaligned", 3.0, 1.0, 100.0},
    {"attention_backward", 0.9, 0.01, 2.0},
    {"roofline_power", 1.0, 1.0, 1000.0},
    {"cast", 1.0, 0.0, 8.0},
}};
static_assert(compute_parameters[static_cast<std::size_t>(ComputeParameter::cast)].name == "cast");

// "compute" of a machine file.
struct ComputeCurves {
  std::optional<int> units;  // SMs, compute units, cores: what tiles are spread over
  // Share of the peak that a large matmul reaches, and fused attention forward (without the masked
  // half).
  std::array<std::optional<double>, dtype_count> matmul_efficiency;
  std::array<std::optional<double>, dtype_count> attention_efficiency;
  std::array<std::optional<double>, compute_parameter_count> values;
  std::string source;  // of what they were fitted to
};

}  // namespace stepscope
