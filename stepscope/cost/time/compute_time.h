// SPDX-License-Identifier: Apache-2.0
// The time of an operation on a device: a roofline with measured shares of the peaks
// (compute_parameters.h).
//
//   matmul     launch + norm_p(flops slowdown / (peak matmul_efficiency), share bytes / (rate
//              mem_eff)) + cast; eagerly the bias's gradient is a pass of its own
//     slowdown = 1 + tail (w - 1), times misaligned (1 + misaligned_fill / k) if m, n or k is not a
//                multiple of 8
//     w        = the least over tiles (a x b, from 256 x 128 to 64 x 64) and cuts of the depth in
//                c = 1, 2, 4, 8 of  ceil(tiles c / units) units a b / c (1 + fill c / k) l(a, b) /
//                (m n batch), where l is 0.8 + 0.2 of the tile's loads per element relative to
//                256 x 128: whole tiles, whole waves of them, and the start of each (NVIDIA, Matrix
//                Multiplication Background: tile and wave quantization)
//   attention  fused: launch + flops / (peak attention_efficiency), backward / attention_backward,
//              + softmax vector flops / vector rate (Shah et al. 2024 §3.1: exponentials have units
//              of their own, so that small heads reach a smaller share of the peak), both times
//              1 + attention_edge / keys
//              (attention_edge_backward; tiles that the mask cuts, and the last wave); else its
//              products are matmuls
//   others     launch + norm_p(flops / vector rate, bytes / (rate mem_eff)); bytes of kernels that
//              read with strides count `strided` times, of those that cast `mixed` times
//   a layer    norm_p(device, host), if the host launches it
//
// norm_p(a, b) = (a^p + b^p)^(1/p). The vector rate is the machine's fp32 peak.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/formula.h"

namespace stepscope {

// The curves of one machine for one number format, with every number resolved. Rates per second.
struct MatmulRates {
  double peak = 0;
  double efficiency = 0;  // of a large product
  double operands = 1;    // bytes per operand element, relative to 16 bits
  double cast = 0;        // of formats below 16 bits
};

// A value that the machine lacks, and its substitute.
struct TakenValue {
  std::string key;    // of a machine file
  std::string value;  // with its unit
  std::string from;   // empty: it is that of most machines

  [[nodiscard]] std::string taken() const { return key + " = " + value; }
  [[nodiscard]] std::string text() const {
    return taken() + ", " + (from.empty() ? "as of most machines" : from);
  }
};

struct ComputeModel {
  MatmulRates matmul;  // in the plan's format
  MatmulRates full;    // in 16 bits (or the plan's, if wider): attention, the head
  double attention_efficiency = 0;
  double narrow_attention = 1;  // of the rate of scores and values, if they are in fp8
  double units = 1;
  double memory_rate = 0;
  double vector_rate = 0;
  std::array<double, compute_parameter_count> values{};
  std::vector<TakenValue> assumptions;
};

constexpr double of(const ComputeModel& model, ComputeParameter p) {
  return model.values[static_cast<std::size_t>(p)];
}

// Softmax attention in fp8 runs at this multiple of its rate in 16 bits (scans of states stay as
// they are). Forward alone reached 1.6 (Shah et
// al. 2024: 1.2 for 0.74 PFLOP/s on H100); backward, with most of the FLOPs, gains less: assumed.
inline constexpr double narrow_attention_gain = 1.3;
// The rate of products whose operands have a scale for each row, relative to one scale for each
// tensor. It makes Llama 3 8B's published speeds on 8 H100 (torchao's page on quantized training:
// 7,690 and 6,768 tokens/s) come out relative to each other.
inline constexpr double rowwise_rate = 0.67;
// Kernels of a CUDA graph follow each other after this share of the time between kernels that are
// launched one by one (about 1.5 for 5 us).
inline constexpr double graphed_gap = 0.3;
void shorten_launches(ComputeModel& model);
// Leaves arithmetic all units but `kept`. Peaks stay, so that utilization is of the whole device.
void keep_units(ComputeModel& model, int kept);
// A compiler pads misaligned products (torch._inductor.config.shape_padding).
void pad_products(ComputeModel& model);

// `vendor_attention`: fused attention by the vendor's library, whose rate may differ. Errors name
// the field that the machine lacks: a peak for `dtype`, the memory's rate.
[[nodiscard]] Result<ComputeModel> make_compute_model(const Machine& machine, Dtype dtype,
                                                      bool vendor_attention = false);

enum class Direction : std::uint8_t { forward, backward };

// `full_precision`: runs in 16 bits in any format of the plan (the head).
[[nodiscard]] Seconds operation_time(const ComputeModel& model, const Operation& operation,
                                     Direction direction, bool full_precision = false);
[[nodiscard]] Formula operation_formula(const ComputeModel& model, const Operation& operation,
                                        Direction direction, bool full_precision);

// w above: the work of a product in whole tiles and waves, relative to its own work. REQUIRES: no
// side is 0.
[[nodiscard]] double matmul_waves(const ComputeModel& model, const MatmulShape& shape);

// A pass over memory of `bytes`, without launch; `mixed` of them in kernels that cast.
[[nodiscard]] Seconds memory_time(const ComputeModel& model, double bytes, double mixed = 0);

// The time that a host which needs `host` seconds to launch a layer adds to `device` seconds.
template <formula::Number N>
[[nodiscard]] N host_excess(const ComputeModel& model, const N& device, const N& host, bool tp) {
  const auto power = tp ? ComputeParameter::host_power_tp : ComputeParameter::host_power;
  return formula::norm(device, host, of(model, power)) - device;
}

}  // namespace stepscope
