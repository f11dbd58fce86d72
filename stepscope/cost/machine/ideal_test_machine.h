// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stepscope {

// An A100 whose shares of the rated figures are all 1, without a host: times can be computed by
// hand.
inline constexpr std::string_view ideal_machine = R"({
  "name": "ideal", "peak_tflops": {"bf16": 312, "fp32": 78}, "memory_gb": 80,
  "memory_gb_per_s": 1555,
  "compute": {"source": "by definition", "units": 108,
    "matmul_efficiency": {"bf16": 1}, "attention_efficiency": {"bf16": 1},
    "launch_us": 0, "matmul_launch_us": 0, "memory_efficiency": 1, "matmul_memory_share": 1,
    "tail": 0, "fill": 0, "misaligned": 1, "attention_backward": 1, "roofline_power": 1000,
    "cast": 0, "contention": 0, "jitter": 0, "host_layer_us": 0, "host_head_layers": 0,
    "host_power": 1000, "host_power_tp": 1000, "optimizer_us": 0, "pass_us": 0},
  "scale_up": {"name": "links", "gb_per_s_per_direction": 300, "domain": 8, "topology": "switch"},
  "scale_out": {"gb_per_s_per_direction": 25},
  "sources": ["none"]})";

}  // namespace stepscope
