// SPDX-License-Identifier: Apache-2.0
// The few numbers that describe how closely a device approaches its peaks, in one table: their
// names in the "compute" object of a machine file, their usual values if nothing was measured, and
// their bounds. cost/time/compute_time.h has the formulas.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/cost/model/dtype.h"

namespace stepscope {

enum class ComputeParameter : std::uint8_t {
  launch_us,            // of a kernel: from the end of one kernel to the start of the next
  matmul_launch_us,     // the same of a matmul
  memory_efficiency,    // share of the memory's rate that large transfers reach
  matmul_memory_share,  // share of a matmul's traffic that its arithmetic does not hide
  tail,                 // share of the cost of whole tiles and waves that a matmul pays
  fill,                 // of each tile of a matmul, in elements of its depth
  misaligned,           // slowdown if a dimension is not a multiple of 8
  attention_backward,   // rate of fused attention backward relative to forward
  roofline_power,  // p in (a^p + b^p)^(1/p) of arithmetic and traffic: 1 adds, 1000 is the maximum
  cast,            // traffic of a cast to a format below 16 bits, relative to its input's
  contention,     // of arithmetic, by the time that bytes sent during it take on the domain's links
  jitter,         // standard deviation of a layer's time over ranks, relative to that time
  host_layer_us,  // the host's time to launch a layer's forward, eagerly; backward takes 1.5 of it
  host_head_layers,  // the same of head and loss, in layers
  host_power,        // p as above, of the device's and the host's time of a layer, with tp = 1
  host_power_tp,     // and with tp > 1
  optimizer_us,      // of an optimizer step in addition to its traffic
  pass_us,           // of a pass of a pipeline's stage: to schedule it and to start its sends
  misaligned_fill,   // of each tile of such a product besides, in elements of its depth
  softmax,           // time of fused attention's vector FLOPs, relative to the vector rate
  attention_edge,    // keys that a query of fused attention costs besides those it sees
  attention_edge_backward,  // the same of its backward
  strided,    // time of a byte that a kernel reads with strides, relative to one in a row
  mixed,      // the same of a kernel that reads one format and writes another
  optimizer,  // traffic of an optimizer step, relative to what its formats need at least
  scan        // rate of a scan of states (Mamba-2, the delta rule), relative to the vector rate
};
inline constexpr std::size_t compute_parameter_count = 26;

struct ComputeParameterInfo {
  std::string_view name;
  double usual;  // if nothing was measured
  double low, high;
  bool told = true;  // a prediction with the usual value says so; false: the value changes nothing
};

inline constexpr std::array<ComputeParameterInfo, compute_parameter_count> compute_parameters = {{
    {"launch_us", 5.7, 0.0, 1e4},
    {"matmul_launch_us", 5.3, 0.0, 1e4},
    {"memory_efficiency", 0.8, 0.01, 1.0},
    {"matmul_memory_share", 0.92, 0.0, 1.0},
    {"tail", 1.0, 0.0, 10.0},
    {"fill", 150.0, 0.0, 1e5},
    {"misaligned", 2.6, 1.0, 100.0},
    {"attention_backward", 0.75, 0.01, 2.0},
    {"roofline_power", 1.0, 1.0, 1000.0},
    {"cast", 3.3, 0.0, 8.0},
    {"contention", 0.33, 0.0, 4.0},
    {"jitter", 0.014, 0.0, 0.5},
    {"host_layer_us", 1000.0, 0.0, 1e6},
    {"host_head_layers", 0.8, 0.0, 100.0},
    {"host_power", 8.0, 1.0, 1000.0},
    {"host_power_tp", 2.0, 1.0, 1000.0},
    {"optimizer_us", 1000.0, 0.0, 1e6},
    {"pass_us", 32.0, 0.0, 1e6},
    {"misaligned_fill", 0.0, 0.0, 1e5, false},
    {"softmax", 1.0, 0.0, 1000.0, false},
    {"attention_edge", 0.0, 0.0, 1e5, false},
    {"attention_edge_backward", 0.0, 0.0, 1e5, false},
    {"strided", 1.0, 1.0, 100.0, false},
    {"mixed", 1.0, 1.0, 100.0, false},
    {"optimizer", 1.0, 0.1, 100.0, false},
    {"scan", 0.7, 0.01, 16.0, false},
}};
static_assert(compute_parameters[static_cast<std::size_t>(ComputeParameter::scan)].name == "scan");

// The "compute" object of a machine file.
struct ComputeCurves {
  std::optional<int> units;  // SMs, compute units or cores, over which tiles are spread
  // Share of the peak that a large matmul and fused attention forward (without the masked half)
  // reach; separately for the vendor's attention kernels if they differ (cuDNN).
  std::array<std::optional<double>, dtype_count> matmul_efficiency;
  std::array<std::optional<double>, dtype_count> attention_efficiency;
  std::array<std::optional<double>, dtype_count> vendor_attention_efficiency;
  std::array<std::optional<double>, compute_parameter_count> values;
  std::string source;  // of the data behind the fit
};

}  // namespace stepscope
